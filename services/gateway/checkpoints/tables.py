"""Storage limits of tenants."""

from sqlalchemy import BigInteger, Column, Table, Uuid

from services.gateway.platform.tables import metadata

storage_limit = Table(
    "storage_limit",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("maximum_bytes", BigInteger),
    Column("version", BigInteger, nullable=False),
)
"""How many bytes a tenant may store, as the registry was told."""
