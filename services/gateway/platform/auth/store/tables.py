"""Who exists, what they hold and where: the gateway's tables of access."""

from sqlalchemy import Boolean, Column, DateTime, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from services.gateway.platform.tables import metadata

tenant = Table(
    "tenant",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("deleting", Boolean, nullable=False),
)
"""Of the system role: who exists."""

token = Table(
    "token",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Column("account", Uuid),
    Column("scope", ARRAY(Text)),
)
"""Of an account it may do what that may, narrowed to its scope; of none it has its role on the tenant."""

account = Table(
    "account",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("disabled_at", DateTime(timezone=True)),
)
"""People and programs; `user` and `group` are words of SQL."""

team = Table(
    "team",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)
"""Groups of accounts."""

membership = Table(
    "membership",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("team", Uuid, primary_key=True),
    Column("account", Uuid, primary_key=True),
)

role = Table(
    "role",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("description", Text, nullable=False),
    Column("permissions", ARRAY(Text), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)
"""Roles that a tenant made; those that all have stand in `permissions.py`."""

binding = Table(
    "binding",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("role", Text, nullable=False),
    Column("account", Uuid),
    Column("team", Uuid),
    Column("workspace", Text),
    Column("project", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""A role given to an account or a team, on the tenant, a workspace or a project."""
