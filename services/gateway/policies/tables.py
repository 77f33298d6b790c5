"""Tables of policies and templates."""

from sqlalchemy import Column, DateTime, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

policy = Table(
    "policy",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("invariant_config", JSON, nullable=False),
    Column("max_slots", Integer),
    Column("priority_limit", Integer),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""An empty workspace stands for the whole tenant. Row-level security does not filter policies by workspace: they apply to callers who may not read them."""

template = Table(
    "template",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("config", JSON, nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""An empty workspace stands for the whole tenant."""
