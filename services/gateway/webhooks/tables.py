"""Where a tenant's events are sent, and what of it waits, has arrived or was given up: the gateway's tables of webhooks."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from services.gateway.platform.tables import metadata

webhook = Table(
    "webhook",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("workspace", Text),
    Column("project", Text),
    Column("origin", Text, nullable=False),
    Column("url", LargeBinary, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("previous_secret", LargeBinary),
    Column("previous_until", DateTime(timezone=True)),
    Column("form", Text, nullable=False),
    Column("events", ARRAY(Text), nullable=False),
    Column("labels", ARRAY(Text), nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""Address and secrets are sealed (`platform/sealing.py`); `origin` is what of the address is shown."""

delivery = Table(
    "delivery",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("webhook", Uuid, nullable=False),
    Column("type", Text, nullable=False),
    Column("event", JSON, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("is_test", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("attempts_before", Integer, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("began_at", DateTime(timezone=True), nullable=False),
    Column("due_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
    Column("status", Integer),
    Column("error", Text),
)
"""An event for one webhook. `due_at` moves on by the lease when a replica takes it; `attempts` fences what that replica says of it.

`began_at` and `attempts_before`: since when, and behind how many attempts, it is tried this time: a replay begins anew.
"""
