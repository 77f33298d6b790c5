"""The loop behind the stored points: what batches brought is joined to chunks of thousands. Beside `upkeep`, which looks after checkpoints."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from services.registry.core.chunks import Columns, from_bytes, join, roll_up_of, split, to_packed
from services.registry.store import packing
from services.registry.store.packing import DaySeries, PackedChunk, TakenChunk
from shared.bus import Units
from shared.clock import Clock
from shared.driver import Driver

LOOSE_CHUNKS = 64
"""So many small chunks of a series are joined while its day lasts; once it is over, two are."""
AT_ONCE = 25
"""Series of one transaction: some megabytes in memory, and locks for a tenth of a second that nobody else wants."""
_DAY = timedelta(days=1)
_ALWAYS = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Packing:
    """Joins chunks; replicas take turns."""

    units: Units
    clock: Clock

    async def pack(self) -> None:
        """Join the small chunks of series that have many today."""
        today = self.clock.now().date()
        await self._pack_all(today, today + _DAY, LOOSE_CHUNKS)

    async def pack_old(self) -> None:
        """Join what days that are over have left. Yesterday is over later than the clock says: a transaction may have begun before midnight."""
        await self._pack_all(_ALWAYS, self.clock.now().date() - _DAY, 2)

    async def _pack_all(self, since: date, before: date, least: int) -> None:
        while await self._pack_some(since, before, least) == AT_ONCE:
            pass

    async def _pack_some(self, since: date, before: date, least: int) -> int:
        async with self.units.system() as unit:
            driver = Driver.of(unit.connection)
            if not await packing.has_turn(driver):
                return 0
            places = await packing.load_loose(driver, since, before, least, AT_ONCE)
            if not places:
                return 0
            taken = await packing.take_loose(driver, places)
            # In a thread: compressing holds up neither reports nor queries.
            packed = await asyncio.to_thread(_packed, taken)
            await packing.save_packed(driver, packed)
        return len(places)


def _packed(taken: Sequence[TakenChunk]) -> list[PackedChunk]:
    by_place: dict[DaySeries, list[TakenChunk]] = defaultdict(list)
    for chunk in taken:
        by_place[chunk.place].append(chunk)
    return [
        _chunk(chunks[0], part)
        for chunks in by_place.values()
        for part in split(join([from_bytes(chunk.body) for chunk in chunks]).sorted())
    ]


def _chunk(like: TakenChunk, points: Columns) -> PackedChunk:
    return PackedChunk(
        like.place, like.tenant, len(points), *points.span, to_packed(points), roll_up_of(points)
    )
