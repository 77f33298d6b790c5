"""Tables of models and their versions, as last announced by the registry."""

from sqlalchemy import BigInteger, Boolean, Column, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from services.gateway.platform.tables import metadata

model = Table(
    "model",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("last_event", JSON, nullable=False),
)

model_version = Table(
    "model_version",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("model", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("last_event", JSON, nullable=False),
)
