"""Table of quotas. The gateway enforces them, except stored bytes, which the registry enforces."""

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
"""`version` counts changes. An empty workspace stands for the whole tenant. Row-level security does not filter quotas by workspace: they apply to callers who may not read them."""
