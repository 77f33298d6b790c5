"""Reads stored objects and compares them with their hashes: requested ones at once, all others slowly in the background.

One replica claims an object at a time; claims of a dead replica expire. `verifier` reads; `corruption` handles mismatches.
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
    """Verification loops of the registry.

    Attributes:
        bytes_per_s: Rate at which objects are read in the background; 0 disables it.
        every: How long an object is trusted after it was read.
        asked: Set when this replica received a verification request.
    """

    units: Units
    verifier: Verifier
    clock: Clock
    bytes_per_s: int
    every: timedelta
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def read_asked(self) -> None:
        """Verify requested objects one by one until none is left."""
        while True:
            now = self.clock.now()
            async with self.units.system() as unit:
                taken = await objects.claim_asked(unit.connection, now, now + CLAIM_FOR)
            if taken is None:
                return
            await self._read(taken)

    async def read_on(self) -> None:
        """Verify the objects that were read longest ago, at the configured rate, until all were read recently."""
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
