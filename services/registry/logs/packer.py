"""Moves old log lines from the database to the object store, and deletes them when they expire.

The intent is recorded first, then the object is stored, then one transaction replaces its chunks. A crash at any point loses or duplicates nothing:
without that transaction the chunks count, and the object is deleted with its intent. Replicas may run it concurrently.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import structlog

from services.registry.logs.core.line_columns import Block, pack
from services.registry.logs.reader import LogReader
from services.registry.logs.store import chunks as logs, objects as log_objects
from services.registry.logs.store.chunks import StoredChunk
from services.registry.logs.store.objects import PackableTrial, PackAttempt
from services.registry.storage.links import log_key
from shared.bus import Units
from shared.clock import Clock
from shared.errors import MusterError
from shared.ids import TenantId, new_id
from shared.objects import ObjectStore
from shared.runtime import faults

BEFORE_PUT = faults.register("registry.before_log_put")
BEFORE_KEPT = faults.register("registry.before_log_kept")
BEFORE_REMOVED = faults.register("registry.before_log_gone")
AT_ONCE = 20
CHUNKS_AT_ONCE = 1_000
LINES_PER_READ = 20_000
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LogPacker:
    """Background loops for logs.

    Attributes:
        object_bytes: Size in bytes of a trial's text that becomes one object.
        remainder_bytes: Remaining text smaller than this stays in the database after the trial's end.
        remainder_after: How long after the end the remainder is packed.
        attempt_for: Time after which an attempt is considered dead; must exceed a request to the store.
        keep: Age at which lines are deleted, whatever other rules say; None keeps them.
    """

    units: Units
    objects: ObjectStore
    reader: LogReader
    clock: Clock
    object_bytes: int
    remainder_bytes: int
    remainder_after: timedelta
    attempt_for: timedelta
    keep: timedelta | None

    async def pack(self) -> None:
        """Pack the oldest lines of every trial that has enough of them."""
        while True:
            over_since = self.clock.now() - self.remainder_after
            async with self.units.system() as unit:
                due = await log_objects.load_due(
                    unit.connection, self.object_bytes, self.remainder_bytes, over_since, AT_ONCE
                )
            if not any([await self._pack(one) for one in due]):
                return

    async def drop(self) -> None:
        """Delete objects of failed attempts, and of expired lines."""
        while True:
            now = self.clock.now()
            async with self.units.system() as unit:
                older_than = now - self.keep if self.keep else None
                going = await log_objects.mark_deleting(
                    unit.connection, now, self.attempt_for, older_than, AT_ONCE
                )
            keys = [log_key(one.tenant, one.trial, one.id) for one in going]
            await asyncio.gather(*[self.objects.delete(key) for key in keys])
            faults.point(BEFORE_REMOVED)
            async with self.units.system() as unit:
                await log_objects.remove_deleted(unit.connection, [one.id for one in going])
            if len(going) < AT_ONCE:
                break

    async def retain(self) -> None:
        """Mark lines as expired by the rules of experiment, workspace or tenant; `drop` deletes their objects."""
        now = self.clock.now()
        async with self.units.system() as unit:
            await log_objects.mark_expired_deleting(unit.connection, now)
        deleted = CHUNKS_AT_ONCE
        while deleted == CHUNKS_AT_ONCE:
            async with self.units.system() as unit:
                deleted = await logs.delete_outdated(unit.connection, now.date(), CHUNKS_AT_ONCE)

    async def _pack(self, due: PackableTrial) -> bool:
        """Return whether an object was created."""
        attempt, tenant = PackAttempt(new_id(self.clock), due), TenantId(due.tenant)
        async with self.units.tenant(tenant) as unit:
            if not await log_objects.begin_attempt(unit.connection, attempt, unit.now):
                return False
        blocks = await self._load(tenant, due)
        if not blocks or blocks[0].first > due.first_unpacked:
            await self._skip(tenant, attempt, blocks[0].first if blocks else None)
            return bool(blocks)
        try:
            return await self._store(tenant, attempt, blocks)
        except MusterError:
            await self._give_up(tenant, attempt)
            raise

    async def _store(self, tenant: TenantId, attempt: PackAttempt, blocks: list[Block]) -> bool:
        packed = await self.reader.run(lambda: pack(blocks))
        key = log_key(tenant, attempt.due.trial, attempt.id)
        faults.point(BEFORE_PUT)
        await self.objects.put(key, packed.content)
        faults.point(BEFORE_KEPT)
        try:
            async with self.units.tenant(tenant) as unit:
                await log_objects.finish_attempt(unit.connection, attempt, packed)
        except LookupError:
            # Another replica packed these lines, or the attempt was given up: then nothing else references the object.
            await self._give_up(tenant, attempt)
            await self.objects.delete(key)
            return False
        return True

    async def _give_up(self, tenant: TenantId, attempt: PackAttempt) -> None:
        async with self.units.tenant(tenant) as unit:
            await log_objects.give_up(unit.connection, attempt.id)

    async def _load(self, tenant: TenantId, due: PackableTrial) -> list[Block]:
        """Return the oldest unpacked lines, as far as they are consecutive, in columns."""
        blocks: list[Block] = []
        text_bytes, following = 0, due.first_unpacked
        while text_bytes < self.object_bytes:
            async with self.units.tenant(tenant) as unit:
                chunks = await logs.load_chunks(unit.connection, due.trial, following - 1, LINES_PER_READ)
            if not chunks:
                break
            for block in await self.reader.run(lambda: [_block(chunk) for chunk in chunks]):  # noqa: B023 - run at once
                if (blocks and block.first > following) or text_bytes >= self.object_bytes:
                    return blocks
                blocks.append(block)
                text_bytes += block.text_bytes
                following = block.first + len(block)
        return blocks

    async def _skip(self, tenant: TenantId, attempt: PackAttempt, following: int | None) -> None:
        """Skip lines whose daily partition was dropped."""
        async with self.units.tenant(tenant) as unit:
            await log_objects.skip_lines(unit.connection, attempt.due, following)
            await log_objects.give_up(unit.connection, attempt.id)


def _block(chunk: StoredChunk) -> Block:
    return Block.of(chunk.first, chunk.run_number, chunk.rows())
