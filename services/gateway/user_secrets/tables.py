"""Table of user secrets."""

from sqlalchemy import Column, DateTime, LargeBinary, Table, Text, Uuid

from services.gateway.platform.tables import metadata

user_secret = Table(
    "user_secret",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("key_id", Text, nullable=False),
    Column("wrapped_key", LargeBinary, nullable=False),
    Column("sealed_value", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""`sealed_value` is encrypted with the row's own data key, and `wrapped_key` is that key encrypted with the master key `key_id` (`envelopes`)."""
