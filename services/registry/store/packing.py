"""Chunks of points behind the hot path: small ones joined, old ones thinned or gone. Under the system role, which may delete."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from services.registry.core.chunks import MOST_POINTS
from shared.driver import Driver

_TURN = 7_240_512
"""Advisory lock: one replica works on chunks at a time, the others find nothing to do."""


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


async def has_turn(driver: Driver) -> bool:
    """Whether it is this transaction's turn; until its end nobody else has it."""
    rows = await driver.fetch("SELECT pg_try_advisory_xact_lock($1) AS mine", _TURN)
    return bool(rows[0]["mine"])


async def load_loose(driver: Driver, since: date, before: date, least: int, most: int) -> list[DaySeries]:
    """Return at most `most` series with `least` or more chunks that are not full, of the days from `since` to before `before`."""
    rows = await driver.fetch(_LOOSE, since, before, MOST_POINTS, least, most)
    return [DaySeries(row["day"], row["series"]) for row in rows]


async def take_loose(driver: Driver, places: Sequence[DaySeries]) -> list[TakenChunk]:
    """Take the chunks that are not full out of the table."""
    rows = await driver.fetch(_TAKE, *_columns(places), MOST_POINTS)
    return [TakenChunk(DaySeries(row["day"], row["series"]), row["tenant"], row["body"]) for row in rows]


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


def _columns(places: Sequence[DaySeries]) -> tuple[list[date], list[int]]:
    return [place.day for place in places], [place.series for place in places]


_LOOSE = """
SELECT day, series FROM registry.point_chunks
WHERE day >= $1 AND day < $2 AND count < $3 AND NOT is_thinned
GROUP BY day, series HAVING count(*) >= $4 LIMIT $5
"""
_TAKE = """
DELETE FROM registry.point_chunks c USING unnest($1::date[], $2::bigint[]) AS w(day, series)
WHERE c.day = w.day AND c.series = w.series AND c.count < $3 AND NOT c.is_thinned
RETURNING c.day, c.series, c.tenant, c.body
"""
_SAVE = """
INSERT INTO registry.point_chunks (day, tenant, series, count, is_thinned, first_step, last_step, body, rolled_up)
SELECT * FROM unnest($1::date[], $2::uuid[], $3::bigint[], $4::int[], $5::bool[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[])
"""
