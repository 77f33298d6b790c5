"""Tables of trials and runs, as searcher and scheduler last published them."""

from sqlalchemy import BigInteger, Column, Double, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

trial = Table(
    "trial",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("experiment", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("best_value", Double),
    Column("last_event", JSON, nullable=False),
)

run = Table(
    "run",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("trial", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("last_event", JSON, nullable=False),
)
