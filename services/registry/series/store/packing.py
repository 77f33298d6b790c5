"""Queries of the chunk loops: merge small chunks, thin old ones, delete expired ones. Under the system role, which may delete."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Date,
    Integer,
    Select,
    TableValuedAlias,
    delete,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.retention.store import DETAIL_DAYS, METRIC_DAYS, with_rules
from services.registry.series.core.chunks import MOST_POINTS
from services.registry.store.report_tables import point_chunks
from services.registry.store.tables import experiments, runs, series
from shared.database.statements import rows_given

POINTS_AT_ONCE = 500_000
"""Per transaction: half a second of work, and about twenty megabytes in memory."""
_LOCK = 7_240_512
"""Advisory lock: one transaction works on chunks at a time; the next one finds this work done."""


@dataclass(frozen=True, slots=True)
class DaySeries:
    """Chunks of a series on one day."""

    day: date
    series: int


@dataclass(frozen=True, slots=True)
class TakenChunk:
    """A chunk removed from the table, to be merged and inserted again."""

    day_series: DaySeries
    tenant: UUID
    body: bytes


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk to insert."""

    day_series: DaySeries
    tenant: UUID
    count: int
    first_step: int
    last_step: int
    body: bytes
    rolled_up: bytes | None
    is_thinned: bool = False


async def lock_packing(connection: AsyncConnection) -> None:
    """Take the lock for this transaction; no other transaction has it until the end."""
    await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))


async def load_loose(
    connection: AsyncConnection, since: date, before: date, least: int, most: int
) -> list[DaySeries]:
    """Return at most `most` series with at least `least` chunks that are not full, on days from `since` to before `before`."""
    chunks = point_chunks.c
    loose = (
        select(chunks.day, chunks.series)
        .where(chunks.day >= since, chunks.day < before, chunks.count < MOST_POINTS, ~chunks.is_thinned)
        .group_by(chunks.day, chunks.series)
        .having(func.count() >= least)
    )
    return await _load(connection, loose, most)


async def load_detailed(
    connection: AsyncConnection, today: date, site_days: int | None, most: int
) -> list[DaySeries]:
    """Return at most `most` series and days whose detail has expired. `site_days` applies if neither experiment nor rule sets it."""
    days = func.coalesce(DETAIL_DAYS, literal(site_days, Integer))
    is_detailed = point_chunks.c.day < literal(today, Date) - days
    return await _load(connection, _RULED.where(~point_chunks.c.is_thinned, is_detailed), most)


async def load_outdated(connection: AsyncConnection, today: date, most: int) -> list[DaySeries]:
    """Return at most `most` series and days whose points have expired by experiment and rules."""
    return await _load(
        connection, _RULED.where(point_chunks.c.day < literal(today, Date) - METRIC_DAYS), most
    )


async def take_loose(connection: AsyncConnection, day_series: Sequence[DaySeries]) -> list[TakenChunk]:
    """Remove chunks that are not full from the table, with at most `POINTS_AT_ONCE` points: the rest is found again."""
    return await _take(connection, day_series, _FOUND.c.count < MOST_POINTS)


async def take_detailed(connection: AsyncConnection, day_series: Sequence[DaySeries]) -> list[TakenChunk]:
    """Remove unthinned chunks from the table, with at most `POINTS_AT_ONCE` points; none if there are no more."""
    return await _take(connection, day_series)


async def delete_chunks(connection: AsyncConnection, day_series: Sequence[DaySeries]) -> None:
    """Delete the chunks of these series on these days."""
    wanted = _wanted(day_series)
    await connection.execute(
        delete(point_chunks).where(
            point_chunks.c.day == wanted.c.day, point_chunks.c.series == wanted.c.series
        )
    )


async def save_packed(connection: AsyncConnection, chunks: Sequence[PackedChunk]) -> None:
    """Insert chunks."""
    rows = [
        {
            "day": chunk.day_series.day,
            "tenant": chunk.tenant,
            "series": chunk.day_series.series,
            "count": chunk.count,
            "is_thinned": chunk.is_thinned,
            "first_step": chunk.first_step,
            "last_step": chunk.last_step,
            "body": chunk.body,
            "rolled_up": chunk.rolled_up,
        }
        for chunk in chunks
    ]
    if rows:
        await connection.execute(insert(point_chunks), rows)


async def _load(connection: AsyncConnection, query: Select[Any], most: int) -> list[DaySeries]:
    return [DaySeries(*row) for row in await connection.execute(query.limit(most))]


async def _take(
    connection: AsyncConnection, day_series: Sequence[DaySeries], *conditions: ColumnElement[bool]
) -> list[TakenChunk]:
    """Delete and return chunks. Nothing else moves rows of this table, so `ctid` identifies a row within the statement."""
    wanted, row_id = _wanted(day_series), (_FOUND.c.day, _FOUND.c.series, _FOUND.c.tableoid, _FOUND.c.ctid)
    order = (_FOUND.c.day, _FOUND.c.series, _FOUND.c.first_step, _FOUND.c.tableoid, _FOUND.c.ctid)
    before = func.sum(_FOUND.c.count).over(order_by=order) - _FOUND.c.count
    found = (
        select(*row_id, before.label("before"))
        .join(wanted, (wanted.c.day == _FOUND.c.day) & (wanted.c.series == _FOUND.c.series))
        .where(~_FOUND.c.is_thinned, *conditions)
        .subquery("taken")
    )
    chunks = point_chunks.c
    taken = (
        delete(point_chunks)
        .where(*(chunks[column.name] == found.c[column.name] for column in row_id))
        .where(found.c.before < POINTS_AT_ONCE)
        .returning(chunks.day, chunks.series, chunks.tenant, chunks.body)
    )
    rows = await connection.execute(taken)
    return [TakenChunk(DaySeries(row.day, row.series), row.tenant, row.body) for row in rows]


def _wanted(day_series: Sequence[DaySeries]) -> TableValuedAlias:
    columns = point_chunks.c.day, point_chunks.c.series
    return rows_given(columns, [(one.day, one.series) for one in day_series])


_FOUND = point_chunks.alias("found")
_RULED = (
    select(point_chunks.c.day, point_chunks.c.series)
    .distinct()
    .select_from(
        with_rules(
            point_chunks.join(series, series.c.id == point_chunks.c.series)
            .join(runs, runs.c.id == series.c.run)
            .outerjoin(experiments, experiments.c.id == runs.c.experiment),
            point_chunks.c.tenant,
        )
    )
)
