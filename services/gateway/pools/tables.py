"""Table of the limits of tenants and workspaces in pools."""

from sqlalchemy import BigInteger, Column, Double, Integer, Table, Text, Uuid

from services.gateway.platform.tables import metadata

slot_limit = Table(
    "slot_limit",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("pool", Text, primary_key=True),
    Column("guaranteed", Integer, nullable=False),
    Column("maximum", Integer),
    Column("weight", Double, nullable=False),
    Column("version", BigInteger, nullable=False),
)
"""An empty workspace stands for the whole tenant."""
