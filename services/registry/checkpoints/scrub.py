"""Reads what the store has, and compares it with what it was: at once what somebody asks for, all of it slowly for ever.

An object is taken by one replica at a time; what a dead one had is taken again once its claim has run out. Neighbours: `verifier`, which
reads, `corruption`, which draws the consequences.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from services.registry.checkpoints.corruption import mark_corrupt
from services.registry.checkpoints.verifier import Verifier
from services.registry.storage.store import files as manifests, objects
from services.registry.storage.store.objects import Unread
from shared.bus import Units
from shared.clock import Clock
from shared.ids import TenantId
from shared.runtime import faults

BEFORE_VERDICT = faults.register("registry.before_verdict")
CLAIM_FOR = timedelta(minutes=15)
"""Longer than reading the largest object takes."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Scrub:
    """The registry's reading loops.

    Attributes:
        bytes_per_s: how fast objects are read that nobody asked for; 0 reads none of them.
        every: how long an object is trusted after it was read.
        asked: set when somebody here has asked for a reading.
    """

    units: Units
    verifier: Verifier
    clock: Clock
    bytes_per_s: int
    every: timedelta
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def read_asked(self) -> None:
        """Read what was asked for, one after the other, until nothing is left."""
        while True:
            now = self.clock.now()
            async with self.units.system() as unit:
                taken = await objects.claim_asked(unit.connection, now, now + CLAIM_FOR)
            if taken is None:
                return
            await self._read(taken)

    async def read_on(self) -> None:
        """Read what was not read for longest, as slowly as was set, until all of it was read lately."""
        while self.bytes_per_s:
            now = self.clock.now()
            async with self.units.system() as unit:
                taken = await objects.claim_oldest(unit.connection, now, now - self.every, now + CLAIM_FOR)
            if taken is None:
                return
            await self._read(taken)
            await asyncio.sleep(taken.size_bytes / self.bytes_per_s)

    async def _read(self, taken: Unread) -> None:
        began = self.clock.now()
        tenant = TenantId(taken.tenant)
        async with self.units.tenant(tenant) as unit:
            file = await manifests.find_holding(unit.connection, taken.key)
        reason = None if file is None else await self.verifier.find_damage(file)
        faults.point(BEFORE_VERDICT)
        async with self.units.tenant(tenant) as unit:
            if reason is None:
                await objects.save_verified(unit.connection, taken.key, unit.now, began)
                return
            spoilt = await mark_corrupt(unit, taken.key, reason)
        _log.error("a stored object was damaged", reason=reason, checkpoints=spoilt, tenant=str(tenant))
