"""Idempotency keys, refused commands, and operations that took longer than their request waited."""

from sqlalchemy import BigInteger, Column, DateTime, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

ordered = Table(
    "ordered",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("operation", Text, nullable=False),
    Column("orderer", Uuid, primary_key=True),
    Column("entity", Uuid),
    Column("version", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("wanted", JSON(none_as_null=True)),
)
"""`wanted`: of what is the site's, how it will be seen to have worked. `orderer`: the user, or the token of none; who asks for what is under way already has the same operation. `version`: of the entity before; `position`: of the feed before. Kept a day."""

operation = Table(
    "operation",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("hint", Text),
)
"""Commands that their owner refused; kept a day."""

idempotency = Table(
    "idempotency",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("operation", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("entity", Uuid, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("response", JSON),
    Column("created_at", DateTime(timezone=True), nullable=False),
)
