"""Table of deletions."""

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
    Column("pending_owners", ARRAY(Text), nullable=False),
    Column("parent", Uuid),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
    Column("code", Text),
    Column("message", Text),
    Column("hint", Text),
)
"""`tenant`: the requester's tenant; for the deletion of a tenant, the operator's. `target`: the id of the experiment or tenant, or an id derived from the
workspace's name. `pending_owners`: the services that have not confirmed."""
