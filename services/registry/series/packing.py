"""Background loops for stored points: merge small chunks, thin old ones, delete expired ones."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.series.core.chunks import Columns, from_bytes, join, roll_up_of, split, thin, to_packed
from services.registry.series.store import packing
from services.registry.series.store.packing import DaySeries, PackedChunk, TakenChunk
from shared.bus import Units
from shared.clock import Clock

LOOSE_CHUNKS = 64
"""Number of small chunks of a series that are merged during the day; afterwards, two are enough."""
AT_ONCE = 25
"""Series per transaction, unless they have too many points: locks are held for a tenth of a second."""
FOUND_AT_ONCE = 5_000
_DAY = timedelta(days=1)
_ALWAYS = date(1970, 1, 1)

Work = Callable[[AsyncConnection, Sequence[DaySeries]], Awaitable[bool]]
"""Processes some of it; True if the rest needs another transaction."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Merges, thins and deletes chunks; replicas take turns by an advisory lock.

    Attributes:
        detail_days: Age at which points are thinned unless the experiment sets its own; None keeps all.
    """

    units: Units
    clock: Clock
    detail_days: int | None = None

    async def pack(self) -> None:
        """Merge small chunks of series that have many today."""
        today = self.clock.now().date()
        await self._all(
            partial(packing.load_loose, since=today, before=today + _DAY, least=LOOSE_CHUNKS), _pack
        )

    async def pack_old(self) -> None:
        """Merge remaining chunks of past days. Yesterday is excluded: a transaction may have begun before midnight."""
        before = self.clock.now().date() - _DAY
        await self._all(partial(packing.load_loose, since=_ALWAYS, before=before, least=2), _pack)

    async def retain(self) -> None:
        """Delete expired points, and thin those whose detail has expired. Summaries are kept."""
        today = self.clock.now().date()
        await self._all(partial(packing.load_outdated, today=today), _drop)
        await self._all(partial(packing.load_detailed, today=today, site_days=self.detail_days), _thin)

    async def _all(self, find: Callable[..., Awaitable[list[DaySeries]]], work: Work) -> None:
        """Find what to process, in transactions of a few series each."""
        is_more = True
        while is_more:
            async with self.units.system() as unit:
                found = await find(unit.connection, most=FOUND_AT_ONCE)
            is_more = len(found) == FOUND_AT_ONCE
            for at in range(0, len(found), AT_ONCE):
                is_rest = True
                while is_rest:
                    async with self.units.system() as unit:
                        await packing.lock_packing(unit.connection)
                        is_rest = await work(unit.connection, found[at : at + AT_ONCE])


async def _pack(connection: AsyncConnection, day_series: Sequence[DaySeries]) -> bool:
    taken = await packing.take_loose(connection, day_series)
    # In a thread: compression must not block reports or queries.
    await packing.save_packed(connection, await asyncio.to_thread(_packed, taken))
    return False


async def _thin(connection: AsyncConnection, day_series: Sequence[DaySeries]) -> bool:
    taken = await packing.take_detailed(connection, day_series)
    await packing.save_packed(connection, await asyncio.to_thread(_thinned, taken))
    return bool(taken)


async def _drop(connection: AsyncConnection, day_series: Sequence[DaySeries]) -> bool:
    await packing.delete_chunks(connection, day_series)
    return False


def _packed(taken: Sequence[TakenChunk]) -> list[PackedChunk]:
    return [_chunk(like, part, roll_up_of(part)) for like, points in _joined(taken) for part in split(points)]


def _thinned(taken: Sequence[TakenChunk]) -> list[PackedChunk]:
    return [
        _chunk(like, part, None, is_thinned=True)
        for like, points in _joined(taken)
        for part in split(thin(points))
    ]


def _joined(taken: Sequence[TakenChunk]) -> Iterator[tuple[TakenChunk, Columns]]:
    """Yield all points of a series and day, with one of their chunks; one of them is in memory at a time."""
    by_day_series: dict[DaySeries, list[TakenChunk]] = defaultdict(list)
    for chunk in taken:
        by_day_series[chunk.day_series].append(chunk)
    for chunks in by_day_series.values():
        yield chunks[0], join([from_bytes(chunk.body) for chunk in chunks]).sorted()


def _chunk(
    like: TakenChunk, points: Columns, rolled_up: bytes | None, *, is_thinned: bool = False
) -> PackedChunk:
    body = to_packed(points)
    return PackedChunk(like.day_series, like.tenant, len(points), *points.span, body, rolled_up, is_thinned)
