"""Stores the audit log: appends waiting records, seals them into chains, and reads sealed records."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Row, Text, Uuid, cast, column, delete, func, insert, literal, select
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.audit import Anchor
from services.gateway.platform.audit.tables import audit, audit_unsealed
from shared.database.statements import rows_given
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part
from shared.ids import TenantId

Sealed = tuple[int, str, bytes]
RECORDS = Cells(
    audit,
    {name: audit.c.record[name].as_string() for name in ("code", "address", "agent", "protocol", "trace_id")}
    | {
        "at": cast(audit.c.at, DateTime(timezone=True)),
        "count": func.coalesce(audit.c.record["count"].as_integer(), 1),
    },
)
"""Columns that lists of records filter and sort by."""


async def append(connection: AsyncConnection, tenants: Sequence[UUID], records: Sequence[str]) -> None:
    """Append records to be sealed. A tenant's role can append records of that tenant only."""
    given = rows_given([audit_unsealed.c.tenant, column("record", Text)], zip(tenants, records, strict=True))
    rows = select(given.c.tenant, cast(given.c.record, JSON))
    await connection.execute(insert(audit_unsealed).from_select(["tenant", "record"], rows))


async def load_waiting_tenants(connection: AsyncConnection) -> list[TenantId]:
    """Load the tenants with records that wait to be sealed."""
    return list(map(TenantId, await connection.scalars(select(audit_unsealed.c.tenant).distinct())))


async def try_lock_chain(connection: AsyncConnection, tenant: UUID) -> bool:
    """Try to lock a tenant's chain until the transaction ends. Return False if another replica holds the lock."""
    key = func.hashtextextended(f"muster:audit:{tenant}", 0)
    return bool(await connection.scalar(select(func.pg_try_advisory_xact_lock(key))))


async def take_waiting(connection: AsyncConnection, tenant: UUID, limit: int) -> list[str]:
    """Remove and return waiting records, in the order of their insertion."""
    waiting = audit_unsealed.alias("waiting")
    first = select(waiting.c.position).where(waiting.c.tenant == tenant).order_by(waiting.c.position)
    take = delete(audit_unsealed).where(audit_unsealed.c.position.in_(first.limit(limit)))
    text = cast(audit_unsealed.c.record, Text).label("record")
    rows = (await connection.execute(take.returning(audit_unsealed.c.position, text))).all()
    return [row.record for row in sorted(rows, key=lambda row: row.position)]


async def insert_sealed(
    connection: AsyncConnection, tenant: UUID, now: datetime, sealed: Sequence[Sealed]
) -> None:
    """Insert sealed records. Fails if a sequence is taken."""
    given = rows_given([audit.c.sequence, column("record", Text), audit.c.hash], sealed)
    constants = literal(tenant, Uuid), literal(now, DateTime(timezone=True))
    rows = select(given.c.sequence, cast(given.c.record, JSON), given.c.hash, *constants)
    names = ("sequence", "record", "hash", "tenant", "sealed_at")
    await connection.execute(insert(audit).from_select(names, rows))


async def load_head(connection: AsyncConnection, tenant: UUID) -> Anchor:
    """Load the sequence and hash of the last sealed record."""
    query = select(audit.c.sequence, audit.c.hash).where(audit.c.tenant == tenant)
    last = (await connection.execute(query.order_by(audit.c.sequence.desc()).limit(1))).one_or_none()
    return Anchor(last.sequence, bytes(last.hash)) if last is not None else Anchor()


async def load_heads(connection: AsyncConnection) -> dict[TenantId, Anchor]:
    """Load the last sealed record of every chain: one index lookup per chain, whatever its length."""
    names = (audit.c.tenant, audit.c.sequence, audit.c.hash)
    last = select(*names).order_by(audit.c.tenant.desc(), audit.c.sequence.desc()).limit(1)
    heads = last.cte("heads", recursive=True)
    before = last.where(audit.c.tenant < heads.c.tenant).lateral("before")
    heads = heads.union_all(select(before).select_from(heads).join(before, literal(value=True)))
    rows = await connection.execute(select(heads))
    return {TenantId(row.tenant): Anchor(row.sequence, bytes(row.hash)) for row in rows}


async def load_hash(connection: AsyncConnection, tenant: UUID, sequence: int) -> bytes | None:
    """Load the hash of a sealed record."""
    query = select(audit.c.hash).where(audit.c.tenant == tenant, audit.c.sequence == sequence)
    found = (await connection.execute(query)).scalar_one_or_none()
    return bytes(found) if found is not None else None


async def load_texts(
    connection: AsyncConnection, tenant: UUID, after: int, last: int | None, limit: int
) -> Sequence[Row[Any]]:
    """Load sequences, sealed texts and hashes after `after` and up to `last`, in order."""
    text = cast(audit.c.record, Text).label("text")
    query = select(audit.c.sequence, text, audit.c.hash).where(
        audit.c.tenant == tenant, audit.c.sequence > after
    )
    if last is not None:
        query = query.where(audit.c.sequence <= last)
    return (await connection.execute(query.order_by(audit.c.sequence).limit(limit))).all()


async def load_bounds(
    connection: AsyncConnection, tenant: UUID, since: datetime | None, until: datetime | None
) -> tuple[int, int]:
    """Load the first and last sequence of the records from `since` to before `until`; (1, 0) if there are none."""
    query = select(func.min(audit.c.sequence), func.max(audit.c.sequence)).where(audit.c.tenant == tenant)
    if since is not None:
        query = query.where(audit.c.at >= _as_stored(since))
    if until is not None:
        query = query.where(audit.c.at < _as_stored(until))
    first, last = (await connection.execute(query)).one()
    return (first, last) if first is not None else (1, 0)


async def load_records(
    connection: AsyncConnection,
    tenant: UUID,
    given: dict[str, str],
    since: datetime | None,
    until: datetime | None,
    wanted: ListQuery,
) -> RowPage:
    """Load a page of records. `given` holds the required values of columns."""
    query = select(audit.c.sequence, audit.c.record, audit.c.hash).where(audit.c.tenant == tenant)
    for name, value in given.items():
        query = query.where(audit.c[name] == value)
    if since is not None:
        query = query.where(audit.c.at >= _as_stored(since))
    if until is not None:
        query = query.where(audit.c.at < _as_stored(until))
    return await load_part(connection, query, RECORDS, wanted)


def _as_stored(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
