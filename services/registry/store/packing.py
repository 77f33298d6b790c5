"""Chunks of points behind the hot path: small ones joined, old ones thinned or gone. Under the system role, which may delete."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from services.registry.core.chunks import MOST_POINTS
from services.registry.store.retention import DETAIL_DAYS, METRIC_DAYS, RULES
from shared.driver import Driver, Row

POINTS_AT_ONCE = 500_000
"""Of one transaction: half a second of work, and some twenty megabytes in memory."""
_TURN = 7_240_512
"""Advisory lock: one transaction works on chunks at a time, and the next finds done what it did."""


@dataclass(frozen=True, slots=True)
class DaySeries:
    """The chunks of a series that one day has."""

    day: date
    series: int


@dataclass(frozen=True, slots=True)
class TakenChunk:
    """A chunk that was taken out, to be put in again with others."""

    place: DaySeries
    tenant: UUID
    body: bytes


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk as it is put in."""

    place: DaySeries
    tenant: UUID
    count: int
    first_step: int
    last_step: int
    body: bytes
    rolled_up: bytes | None
    is_thinned: bool = False


async def take_turn(driver: Driver) -> None:
    """Wait for this transaction's turn; until its end nobody else has it."""
    await driver.fetch("SELECT pg_advisory_xact_lock($1)", _TURN)


async def load_loose(driver: Driver, since: date, before: date, least: int, most: int) -> list[DaySeries]:
    """Return at most `most` series with `least` or more chunks that are not full, of the days from `since` to before `before`."""
    rows = await driver.fetch(_LOOSE, since, before, MOST_POINTS, least, most)
    return [DaySeries(row["day"], row["series"]) for row in rows]


async def load_detailed(driver: Driver, today: date, site_days: int | None, most: int) -> list[DaySeries]:
    """Return at most `most` series and days that are older than all points are kept; `site_days` where neither experiment nor rule says so."""
    rows = await driver.fetch(_DETAILED, today, site_days, most)
    return [DaySeries(row["day"], row["series"]) for row in rows]


async def load_outdated(driver: Driver, today: date, most: int) -> list[DaySeries]:
    """Return at most `most` series and days that are older than any points are kept by experiment and rules."""
    rows = await driver.fetch(_OUTDATED, today, most)
    return [DaySeries(row["day"], row["series"]) for row in rows]


async def take_loose(driver: Driver, places: Sequence[DaySeries]) -> list[TakenChunk]:
    """Take chunks that are not full out of the table, of at most `POINTS_AT_ONCE`: the rest is found again."""
    return await _take(driver, places, "AND k.count < $4", MOST_POINTS)


async def take_detailed(driver: Driver, places: Sequence[DaySeries]) -> list[TakenChunk]:
    """Take chunks that have all their points out of the table, of at most `POINTS_AT_ONCE`; none when there are no more."""
    return await _take(driver, places, "")


async def delete_chunks(driver: Driver, places: Sequence[DaySeries]) -> None:
    """Delete what these series have on these days."""
    await driver.fetch(_DELETE, *_columns(places))


async def save_packed(driver: Driver, chunks: Sequence[PackedChunk]) -> None:
    """Put chunks in."""
    rows = [
        (
            chunk.place.day,
            chunk.tenant,
            chunk.place.series,
            chunk.count,
            chunk.is_thinned,
            chunk.first_step,
            chunk.last_step,
            chunk.body,
            chunk.rolled_up,
        )
        for chunk in chunks
    ]
    if rows:
        await driver.fetch(_SAVE, *[list(column) for column in zip(*rows, strict=True)])


async def _take(
    driver: Driver, places: Sequence[DaySeries], condition: str, *more: object
) -> list[TakenChunk]:
    rows = await driver.fetch(_TAKE.format(condition=condition), *_columns(places), POINTS_AT_ONCE, *more)
    return [_taken(row) for row in rows]


def _taken(row: Row) -> TakenChunk:
    return TakenChunk(DaySeries(row["day"], row["series"]), row["tenant"], row["body"])


def _columns(places: Sequence[DaySeries]) -> tuple[list[date], list[int]]:
    return [place.day for place in places], [place.series for place in places]


_LOOSE = """
SELECT day, series FROM registry.point_chunks
WHERE day >= $1 AND day < $2 AND count < $3 AND NOT is_thinned
GROUP BY day, series HAVING count(*) >= $4 LIMIT $5
"""
_DELETE = """
DELETE FROM registry.point_chunks c USING unnest($1::date[], $2::bigint[]) AS w(day, series)
WHERE c.day = w.day AND c.series = w.series
"""
# Nothing else moves rows of this table, so that a row's place names it until the end of the statement.
_TAKE = """
DELETE FROM registry.point_chunks c USING (
    SELECT k.day, k.series, k.tableoid, k.ctid, k.count,
           sum(k.count) OVER (ORDER BY k.day, k.series, k.first_step, k.tableoid, k.ctid) AS up_to_here
    FROM unnest($1::date[], $2::bigint[]) AS w(day, series)
    JOIN registry.point_chunks k ON k.day = w.day AND k.series = w.series
    WHERE NOT k.is_thinned {condition}
) t
WHERE c.day = t.day AND c.series = t.series AND c.tableoid = t.tableoid AND c.ctid = t.ctid AND t.up_to_here - t.count < $3
RETURNING c.*
"""
_RULED = f"""
SELECT DISTINCT c.day, c.series FROM registry.point_chunks c
JOIN registry.series s ON s.id = c.series
JOIN registry.runs r ON r.id = s.run
LEFT JOIN registry.experiments e ON e.id = r.experiment
{RULES.format(tenant="c.tenant", workspace="e.workspace")}
"""
_DETAILED = f"""
{_RULED}
WHERE NOT c.is_thinned AND c.day < $1::date - coalesce({DETAIL_DAYS}, $2::int) LIMIT $3
"""
_OUTDATED = f"""
{_RULED}
WHERE c.day < $1::date - {METRIC_DAYS} LIMIT $2
"""
_SAVE = """
INSERT INTO registry.point_chunks (day, tenant, series, count, is_thinned, first_step, last_step, body, rolled_up)
SELECT * FROM unnest($1::date[], $2::uuid[], $3::bigint[], $4::int[], $5::bool[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[])
"""
