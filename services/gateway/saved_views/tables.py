"""Table of saved views."""

from sqlalchemy import Column, DateTime, Table, Text, Uuid

from services.gateway.platform.tables import metadata

view = Table(
    "view",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("person", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("address", Text, nullable=False),
    Column("saved_at", DateTime(timezone=True), nullable=False),
)
"""`person` is an account, or a token without one."""
