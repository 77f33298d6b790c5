"""Tables of sessions, sign-in links, passwords and linked identities."""

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
"""A session is valid until it is ended, expires, or is not used for `idle_s` seconds. A session of a token is not valid longer than the token,
and has no account if the token has none."""

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
"""A link creates one session for its token, unless it was used or has expired."""

password = Table(
    "password",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("account", Uuid, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
)
"""`hash` is Argon2id of the password's keyed hash, so it is useless without the pepper."""

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
"""Links subjects of providers to accounts."""
