"""Tables that every service's schema has: outbox, inbox, pending deletions, deleted ids, and leases.

`shared.database.engine` and `shared.database.leases` create them in migrations.
"""

from dataclasses import dataclass
from functools import cache

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Identity,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
    func,
)

_Time = DateTime(timezone=True)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of one schema. `deleted`: ids that outlive their tenant."""

    outbox: Table
    inbox: Table
    deleting: Table
    deleted: Table
    lease: Table


@cache
def tables_of(schema: str) -> Tables:
    """Return the tables of a schema: the same objects for each call, because compiled statements are cached by table."""
    metadata = MetaData(schema=schema)
    return Tables(
        Table(
            "outbox",
            metadata,
            Column("id", Uuid, primary_key=True),
            Column("position", BigInteger, Identity(always=True), nullable=False),
            Column("tenant", Uuid, nullable=False),
            Column("subject", Text, nullable=False),
            Column("headers", Text, nullable=False),
            Column("payload", LargeBinary, nullable=False),
            Column("created_at", _Time, nullable=False, server_default=func.now()),
            Column("published_at", _Time),
            Column("stream", Text),
            Column("stream_created", _Time),
            Column("stream_sequence", BigInteger),
            Column("entity", Text),
        ),
        Table(
            "inbox",
            metadata,
            Column("tenant", Uuid, primary_key=True),
            Column("consumer", Text, primary_key=True),
            Column("message_id", Uuid, primary_key=True),
            Column("received_at", _Time, nullable=False, server_default=func.now()),
        ),
        Table(
            "deletion_request",
            metadata,
            Column("operation", Uuid, primary_key=True),
            Column("tenant", Uuid, nullable=False),
            Column("scope", Text, nullable=False),
            Column("target", Uuid, nullable=False),
            Column("workspace", Text),
            Column("is_forced", Boolean, nullable=False),
            Column("by", Text, nullable=False),
            Column("asked_at", _Time, nullable=False),
        ),
        Table(
            "tombstone",
            metadata,
            Column("id", Uuid, primary_key=True),
            Column("since", _Time, nullable=False, server_default=func.now()),
        ),
        Table(
            "lease",
            metadata,
            Column("name", Text, primary_key=True),
            Column("holder", Text, nullable=False),
            Column("epoch", BigInteger, nullable=False),
            Column("expires_at", _Time, nullable=False),
        ),
    )
