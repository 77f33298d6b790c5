"""Tables of idempotency keys, refused commands, and long operations."""

from sqlalchemy import BigInteger, Column, DateTime, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

long_operation = Table(
    "long_operation",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("operation", Text, nullable=False),
    Column("requester", Uuid, primary_key=True),
    Column("entity", Uuid),
    Column("version", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("desired_state", JSON(none_as_null=True)),
)
"""Long operations, kept for a day.

`requester`: the user, or the token if it has none; several callers may wait for the same operation. `version` and `position`: of the entity and of
the feed before the operation. `desired_state`: only for operations on the site's machines.
"""

operation_refusal = Table(
    "operation_refusal",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("hint", Text),
)
"""Refused commands, kept for a day."""

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
