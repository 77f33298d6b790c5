"""Operations that took longer than their request waited."""

from sqlalchemy import BigInteger, Column, DateTime, Table, Text, Uuid

from services.gateway.store.tables import metadata

ordered = Table(
    "ordered",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("operation", Text, nullable=False),
    Column("orderer", Uuid, nullable=False),
    Column("entity", Uuid),
    Column("version", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)
"""`orderer`: the user, or the token of none. `version`: of the entity before; `position`: of the feed before. Kept a day."""
