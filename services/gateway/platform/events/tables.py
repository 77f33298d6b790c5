"""A tenant's counter, and its feed of events."""

from sqlalchemy import BigInteger, Column, DateTime, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

counter = Table(
    "counter",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("experiments", Integer, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("swept", BigInteger, nullable=False, server_default="0"),
)
"""One row a tenant; changing it gives running numbers without gaps, and events whose order is that of their commits. Held for as short as can be: both wait for it.
`swept`: the last position of the feed that was kept for its time; before it an id cannot be gone on from."""

event = Table(
    "event",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("kind", Text, nullable=False),
    Column("change", Text, nullable=False),
    Column("entity", Uuid, nullable=False),
    Column("experiment", Uuid),
    Column("version", BigInteger, nullable=False),
    Column("resource", JSON, nullable=False),
)
