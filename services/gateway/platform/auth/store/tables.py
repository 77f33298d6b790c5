"""Tables of tenants, tokens, accounts, groups, roles and role bindings."""

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
"""Only the system role may read it."""

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
"""A token with an account has the account's permissions, limited to its scope. One without has its role on the tenant."""

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
"""People and service accounts. `user` and `group` are SQL keywords."""

account_group = Table(
    "account_group",
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
    Column("account_group", Uuid, primary_key=True),
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
"""Custom roles of tenants. The built-in roles are in `permissions.py`."""

role_binding = Table(
    "role_binding",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("role", Text, nullable=False),
    Column("account", Uuid),
    Column("account_group", Uuid),
    Column("workspace", Text),
    Column("project", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""A role granted to an account or a group, on the tenant, a workspace or a project."""
