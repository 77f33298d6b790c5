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
"""Storage limit of a tenant, as announced to the registry."""
