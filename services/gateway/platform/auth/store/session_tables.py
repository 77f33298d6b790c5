"""How people prove who they are, and the sessions that follow from it: tables beside those of access."""

from sqlalchemy import Column, DateTime, Integer, LargeBinary, Table, Text, Uuid

from services.gateway.platform.tables import metadata

session = Table(
    "session",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("account", Uuid),
    Column("token", Uuid),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("via", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("used_at", DateTime(timezone=True), nullable=False),
    Column("idle_s", Integer, nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
)
"""It counts until it was ended, is past its time, or was not used for `idle_s`. One that stands for a token counts no longer than that, and is
nobody's where the token is."""

sign_in_link = Table(
    "sign_in_link",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("token", Uuid, nullable=False),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("used_at", DateTime(timezone=True)),
)
"""It begins one session that stands for the token, unless it was used or is past its time."""

password = Table(
    "password",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("account", Uuid, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
)
"""Argon2id of the password's keyed hash: of no use without the pepper."""

identity = Table(
    "identity",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("account", Uuid, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)
"""Who of a provider is which account."""
