"""Table of saved views."""

from sqlalchemy import Column, DateTime, Table, Text, Uuid

from services.gateway.platform.tables import metadata

saved_view = Table(
    "saved_view",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("owner", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("address", Text, nullable=False),
    Column("saved_at", DateTime(timezone=True), nullable=False),
)
"""`owner` is an account, or a token without one."""
