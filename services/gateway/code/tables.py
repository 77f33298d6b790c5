"""Table of uploaded code archives."""

from sqlalchemy import BigInteger, Column, DateTime, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from services.gateway.platform.tables import metadata

code = Table(
    "code",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("sha256", Text, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("files", ARRAY(Text)),
)
