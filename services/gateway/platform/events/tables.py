"""Tables of the tenants' counters and event feeds."""

from sqlalchemy import BigInteger, Column, DateTime, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

counter = Table(
    "counter",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("experiments", Integer, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("last_expired_position", BigInteger, nullable=False, server_default="0"),
)
"""One row per tenant. Its row lock gives numbers without gaps, and feed positions in commit order. Hold it briefly: creates and events both wait for it.
`last_expired_position`: position of the newest event that the sweep has deleted; streams cannot resume before it."""

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
