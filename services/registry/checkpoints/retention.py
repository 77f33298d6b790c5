"""Decides which checkpoints are deleted, by an experiment's rule or on a user's request; never registered ones or those in use.

Deletion is first recorded as an intent; `cleanup` carries it out. `core.collect` has the rule.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from services.registry.checkpoints.core.collect import Pins, RetentionVerdict, judge_checkpoints
from services.registry.checkpoints.store import checkpoints, collection
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.checkpoints.store.collection import CollectableExperiment
from services.registry.core.checkpoint import CHECKPOINT, CheckpointTrigger
from shared.bus import Bus, Unit, Units
from shared.ids import CheckpointId, TenantId
from shared.messages.experiments import GetReferences

AT_ONCE = 500
"""Per transaction, and per query to the searcher."""
ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class Collection:
    """Result of a retention rule.

    Attributes:
        going: Ids of deleted checkpoints, ascending; including abandoned ones.
        kept: Number of kept checkpoints by reason.
        freed_bytes: Size of files that no kept checkpoint shares.
    """

    going: tuple[UUID, ...]
    kept: dict[str, int]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class Retention:
    """Applies retention rules."""

    units: Units
    bus: Bus

    async def collect(self, due: CollectableExperiment, *, dry_run: bool) -> Collection:
        """Delete what the rule does not keep; a dry run changes nothing."""
        tenant = TenantId(due.tenant)
        async with self.units.tenant(tenant) as unit:
            kept = await collection.load_kept(unit.connection, due.experiment)
            unwanted = await collection.load_unwanted(unit.connection, due.experiment)
            pins = await _pins(unit, [one.checkpoint for one in kept])
        verdicts = judge_checkpoints(kept, due.policy, pins, smaller_is_better=due.smaller_is_better)
        plan = [one for one, verdict in verdicts.items() if verdict is RetentionVerdict.unneeded]
        named = await self._referenced(tenant, plan)
        kept_counts = Counter(
            str(verdict) for verdict in verdicts.values() if verdict is not RetentionVerdict.unneeded
        )
        kept_counts[str(RetentionVerdict.pinned)] += len(named)
        plan = sorted({*plan, *unwanted} - named)
        going = plan if dry_run else await self._let_go(tenant, plan)
        async with self.units.tenant(tenant) as unit:
            freed_bytes = await collection.load_freed_bytes(unit.connection, going)
            if due.is_over and not dry_run:
                await collection.save_collected(unit.connection, due.experiment, unit.now)
        return Collection(
            tuple(going), {reason: count for reason, count in kept_counts.items() if count}, freed_bytes
        )

    async def why_kept(self, tenant: TenantId, checkpoint: UUID) -> RetentionVerdict | None:
        """Return why a checkpoint may not be deleted by anyone; None if it may."""
        async with self.units.tenant(tenant) as unit:
            held = (await _pins(unit, [checkpoint])).why(checkpoint)
        if held is None and await self._referenced(tenant, [checkpoint]):
            return RetentionVerdict.pinned
        return held

    async def _let_go(self, tenant: TenantId, plan: Sequence[UUID]) -> list[UUID]:
        """Return what was marked for deletion. Pins are checked again under the row locks: a version may have been created since the plan."""
        marked: list[UUID] = []
        for part in _chunks(plan):
            async with self.units.tenant(tenant) as unit:
                marked += [one.id for one in await mark_deleting(unit, part, "collected")]
        return marked

    async def _referenced(self, tenant: TenantId, plan: Sequence[UUID]) -> set[UUID]:
        """Return what the searcher still references: an event about a new trial may be on its way."""
        named: set[UUID] = set()
        for part in _chunks(plan):
            query = GetReferences(checkpoints=tuple(map(CheckpointId, part)))
            named |= (await self.bus.ask(query, tenant, ASK_S)).checkpoints
        return named


async def mark_deleting(unit: Unit, plan: Sequence[UUID], reason: str) -> list[CheckpointRow]:
    """Mark these checkpoints for deletion, except pinned ones and those already being deleted; return the marked ones."""
    locked = await checkpoints.lock_many(unit.connection, plan)
    movable = [one for one in locked if CHECKPOINT.moves(one.state, CheckpointTrigger.collected)]
    pins = await _pins(unit, [one.id for one in movable])
    free = [one for one in movable if pins.why(one.id) is None]
    return await checkpoints.move_many(unit.connection, free, CheckpointTrigger.collected, unit.now, reason)


async def _pins(unit: Unit, wanted: list[UUID]) -> Pins:
    starts = await collection.load_starts(unit.connection, wanted)
    newest = await collection.load_newest(unit.connection, wanted)
    return Pins(starts | newest, await collection.load_registered(unit.connection, wanted))


def _chunks(plan: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for first in range(0, len(plan), AT_ONCE):
        yield plan[first : first + AT_ONCE]
