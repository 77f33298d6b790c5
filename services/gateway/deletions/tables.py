"""The gateway's table of deletions."""

from sqlalchemy import Boolean, Column, DateTime, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from services.gateway.platform.tables import metadata

deletion = Table(
    "deletion",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("target", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("is_forced", Boolean, nullable=False),
    Column("by", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("waiting", ARRAY(Text), nullable=False),
    Column("parent", Uuid),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
    Column("code", Text),
    Column("message", Text),
    Column("hint", Text),
)
"""Of whoever asked for it: that of a tenant is its operator's tenant's. `target`: an experiment's or a tenant's id, of a workspace
one that stands for it; `waiting`: which owners have not confirmed."""
