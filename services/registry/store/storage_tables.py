"""Tables for stored bytes: contents of workspaces, expected uploads, and prefixes to sweep. See also `tables`."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Table, Text, Uuid

from services.registry.store.tables import METADATA

workspace_storage = Table(
    "workspace_storage",
    METADATA,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("used_bytes", BigInteger),
    Column("maximum_bytes", BigInteger),
    Column("version", BigInteger),
)

workspace_objects = Table(
    "workspace_object",
    METADATA,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("size_bytes", BigInteger),
)

artifact_uploads = Table(
    "artifact_upload",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("tenant", Uuid),
    Column("requested_at", DateTime(timezone=True)),
    Column("is_deleting", Boolean),
)

pending_prefix_cleanups = Table(
    "pending_prefix_cleanup",
    METADATA,
    Column("prefix", Text, primary_key=True),
    Column("due_at", DateTime(timezone=True)),
)
