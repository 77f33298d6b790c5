"""Loops behind the handlers: settle what ended runs left announced, collect what nobody needs, delete its objects.

Each is idempotent and guarded, so that replicas may run them side by side. No object is touched inside a transaction.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from services.registry import events, fences
from services.registry.core.checkpoint import CHECKPOINT, State, Trigger
from services.registry.core.collect import Pins, plan_collection
from services.registry.links import INCOMING, kept_prefix, upload_prefix
from services.registry.store import checkpoints, collection, models, objects, trials
from services.registry.store.checkpoints import Checkpoint
from services.registry.store.collection import Due
from shared import faults
from shared.bus import Bus, Unit, Units
from shared.clock import Clock
from shared.ids import CheckpointId, TenantId, derived_id
from shared.messages.experiments import GetReferences
from shared.objects import ObjectStore

BEFORE_DELETE = faults.register("registry.before_delete")
BEFORE_DELETED = faults.register("registry.before_deleted")
AT_ONCE = 100
ASK_S = 5.0
INCOMING_FOR = timedelta(hours=24)
"""An upload is committed within this time, or sent again."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The registry's loops.

    Attributes:
        collect_after: how long an experiment's checkpoints stay untouched after its end.
        unused_for: how long an object stays after its last reference.
        is_dry: collection says what it would delete, and deletes nothing.
    """

    units: Units
    bus: Bus
    objects: ObjectStore
    clock: Clock
    collect_after: timedelta
    unused_for: timedelta
    is_dry: bool

    async def settle(self) -> None:
        """Give up what runs announced and did not commit within their upload timeout, also what was never heard of."""
        now = self.clock.now()
        async with self.units.system() as unit:
            due = await checkpoints.load_unsettled_runs(unit.connection, now, AT_ONCE)
        for tenant, trial, run in due:
            async with self.units.tenant(TenantId(tenant)) as unit:
                await _settle(unit, trial, run, now)

    async def collect(self) -> None:
        """Decide what of ended experiments may go, and write it down as the intent to delete."""
        async with self.units.system() as unit:
            due = await collection.load_due(unit.connection, self.clock.now() - self.collect_after, AT_ONCE)
        for one in due:
            await self._collect(one)

    async def delete(self) -> None:
        """Delete the objects of what is to go, then say that it is gone. Repeating it does no harm."""
        while True:
            async with self.units.system() as unit:
                due = await checkpoints.load_deleting(unit.connection, AT_ONCE)
            faults.point(BEFORE_DELETE)
            for one in due:
                await _delete_below(self.objects, upload_prefix(one.tenant, one.id))
                await self._delete_copies(one)
            faults.point(BEFORE_DELETED)
            for tenant in sorted({one.tenant for one in due}):
                gone = sorted(one.id for one in due if one.tenant == tenant)
                async with self.units.tenant(TenantId(tenant)) as unit:
                    for checkpoint in gone:
                        await _say_deleted(unit, checkpoint)
            if len(due) < AT_ONCE:
                return

    async def drop_unused(self) -> None:
        """Delete objects to which nothing has referred for a while; whether that is so still is seen under their rows' locks."""
        while True:
            async with self.units.system() as unit:
                before = self.clock.now() - self.unused_for
                due = await objects.load_unused(unit.connection, before, AT_ONCE)
            for tenant in sorted({one.tenant for one in due}):
                keys = [one.key for one in due if one.tenant == tenant]
                async with self.units.tenant(TenantId(tenant)) as unit:
                    going = await objects.let_go(unit.connection, keys)
                await asyncio.gather(*[self.objects.delete(key) for key in going])
                async with self.units.tenant(TenantId(tenant)) as unit:
                    await objects.save_gone(unit.connection, going)
            if len(due) < AT_ONCE:
                return

    async def sweep(self) -> None:
        """Delete what signed URLs left behind."""
        await sweep_incoming(self.objects, self.clock.now())

    async def _delete_copies(self, checkpoint: Checkpoint) -> None:
        """Objects that others may share stay until nobody does; what else an attempt to commit has left goes."""
        copies = [one.key async for one in self.objects.list(kept_prefix(checkpoint.tenant, checkpoint.id))]
        async with self.units.tenant(TenantId(checkpoint.tenant)) as unit:
            shared = await objects.load_shared(unit.connection, copies)
        await asyncio.gather(*[self.objects.delete(key) for key in copies if key not in shared])

    async def _collect(self, due: Due) -> None:
        tenant = TenantId(due.tenant)
        async with self.units.tenant(tenant) as unit:
            kept = await collection.load_kept(unit.connection, due.experiment)
            unwanted = await collection.load_unwanted(unit.connection, due.experiment)
            pins = await self._pins(unit, [one.checkpoint for one in kept])
        plan = plan_collection(kept, due.policy, pins, smaller_is_better=due.smaller_is_better)
        named = await self._referenced(tenant, plan)
        going = [checkpoint for checkpoint in plan if checkpoint not in named] + unwanted
        async with self.units.tenant(tenant) as unit:
            gone = (
                sorted(going)
                if self.is_dry
                else [one for one in sorted(going) if await self._let_go(unit, one)]
            )
            freed_bytes = await collection.load_freed_bytes(unit.connection, gone)
            await collection.save_collected(unit.connection, due.experiment, unit.now)
        if gone:
            said = "collection would delete" if self.is_dry else "checkpoints were collected"
            _log.info(said, experiment=str(due.experiment), checkpoints=len(gone), freed_bytes=freed_bytes)

    async def _pins(self, unit: Unit, wanted: list[UUID]) -> Pins:
        starts = await collection.load_starts(unit.connection, wanted)
        return Pins(starts, await models.load_registered(unit.connection, wanted))

    async def _referenced(self, tenant: TenantId, plan: list[UUID]) -> frozenset[CheckpointId]:
        """What the searcher still names: it may have wanted a trial whose event is on its way."""
        if not plan:
            return frozenset()
        query = GetReferences(checkpoints=tuple(map(CheckpointId, plan)))
        return (await self.bus.ask(query, tenant, ASK_S)).checkpoints

    async def _let_go(self, unit: Unit, checkpoint: UUID) -> bool:
        """Whether it may go. Under the row's lock the pins are looked up again: a version may have been made since the plan."""
        locked = await checkpoints.load_checkpoint(unit.connection, checkpoint, lock=True)
        if locked is None or not CHECKPOINT.moves(locked.state, Trigger.collected):
            return False
        if (await self._pins(unit, [checkpoint])).holds(checkpoint):
            return False
        await checkpoints.move_checkpoint(
            unit.connection, locked, Trigger.collected, unit.now, reason="collected"
        )
        return True


async def sweep_incoming(objects: ObjectStore, now: datetime) -> None:
    """Delete uploads that nobody committed, and what was sent again after a commit, once they are old."""
    await _delete_below(objects, INCOMING, now - INCOMING_FOR)


async def _delete_below(objects: ObjectStore, prefix: str, before: datetime | None = None) -> None:
    found = [one async for one in objects.list(prefix) if before is None or one.modified < before]
    await asyncio.gather(*[objects.delete(one.key) for one in found])


async def _say_deleted(unit: Unit, checkpoint: UUID) -> None:
    locked = await checkpoints.load_checkpoint(unit.connection, checkpoint, lock=True)
    if locked is not None and locked.state is State.deleting:
        gone = await checkpoints.move_checkpoint(unit.connection, locked, Trigger.objects_gone, unit.now)
        await objects.save_released(unit.connection, checkpoint, unit.now)
        unit.emit(events.checkpoint_event(gone))


async def _settle(unit: Unit, trial: UUID, run: UUID, now: datetime) -> None:
    await trials.lock_trial(unit.connection, trial)
    stored = await trials.load_run(unit.connection, run)
    if stored.is_settled:
        return
    reason = "it was not committed within the upload timeout"
    await fences.abandon_unsaved(unit, run, Trigger.upload_timed_out, reason, now)
    known = await checkpoints.load_numbers(unit.connection, run)
    for number in sorted(set(range(1, (stored.announced or 0) + 1)) - known):
        checkpoint = derived_id(run, "checkpoint", number)
        row = {
            "id": checkpoint,
            "tenant": stored.tenant,
            "experiment": stored.experiment,
            "trial": trial,
            "run": run,
            "run_number": stored.number,
            "token": stored.token,
            "number": number,
            "step": 0,
            "created_at": now,
            "changed_at": now,
        }
        if await checkpoints.insert_checkpoint(unit.connection, row):
            made = await checkpoints.load_checkpoint(unit.connection, checkpoint, lock=True)
            if made is not None:
                moved = await checkpoints.move_checkpoint(
                    unit.connection, made, Trigger.upload_timed_out, now, reason="it was never sent"
                )
                unit.emit(events.checkpoint_event(moved))
    await collection.save_settled(unit.connection, run)
