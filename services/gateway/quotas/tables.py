"""What a tenant and its workspaces may do at once, which the gateway itself keeps to, and what a workspace may store, which the registry does."""

from sqlalchemy import BigInteger, Column, DateTime, Double, Integer, Table, Text, Uuid

from services.gateway.platform.tables import metadata

quota = Table(
    "quota",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("max_experiments", Integer),
    Column("requests_per_s", Double),
    Column("max_stored_bytes", BigInteger),
    Column("version", BigInteger, nullable=False, server_default="0"),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""`version` counts what was said. An empty workspace is the tenant as a whole. It binds also those who see nothing of it, and is not narrowed to places."""
