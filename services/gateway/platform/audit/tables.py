"""The audit log: records as they were committed, and as they were sealed a moment later."""

from sqlalchemy import BigInteger, Column, DateTime, Identity, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

audit_waiting = Table(
    "audit_waiting",
    metadata,
    Column("position", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant", Uuid, nullable=False),
    Column("record", JSON, nullable=False),
)
"""Records committed with their changes; the sealing takes them from here within a second."""

audit = Table(
    "audit",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("record", JSON, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("sealed_at", DateTime(timezone=True), nullable=False),
    # made by Postgres of the record, so that they cannot say anything else
    Column("at", Text, nullable=False),
    Column("actor", Text),
    Column("operation", Text),
    Column("entity", Text),
    Column("outcome", Text),
)
"""Sealed records, which no role of a service can change or delete."""
