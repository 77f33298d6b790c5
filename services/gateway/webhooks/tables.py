"""Tables of webhooks and their deliveries."""

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
    Column("previous_secret_until", DateTime(timezone=True)),
    Column("form", Text, nullable=False),
    Column("events", ARRAY(Text), nullable=False),
    Column("labels", ARRAY(Text), nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)
"""`url` and the secrets are encrypted (`platform/encryption.py`); responses contain only `origin`."""

webhook_delivery = Table(
    "webhook_delivery",
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
    Column("previous_attempts", Integer, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("series_started_at", DateTime(timezone=True), nullable=False),
    Column("due_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True)),
    Column("status", Integer),
    Column("error", Text),
)
"""An event for one webhook. A replica that leases it adds the lease to `due_at`; `attempts` fences the results of older leases.

`series_started_at` and `previous_attempts`: start of the current series of attempts, and the attempts before it. A replay starts a new series.
"""
