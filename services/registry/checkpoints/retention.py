"""Which checkpoints go: by an experiment's rule or by a person's word, never what is registered or in use.

What goes is written down as the intent; `cleanup` deletes it. Neighbour: `core.collect`, the rule.
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
"""In one transaction, and in one question to the searcher."""
ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class Collection:
    """What a rule takes and leaves.

    Attributes:
        going: what goes, in the order of their ids; checkpoints that were given up are among them.
        kept: how many stay, by reason.
        freed_bytes: what only those that go hold: files that stay with another checkpoint are not in it.
    """

    going: tuple[UUID, ...]
    kept: dict[str, int]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class Retention:
    """Judges, and lets go."""

    units: Units
    bus: Bus

    async def collect(self, due: CollectableExperiment, *, dry_run: bool) -> Collection:
        """Have go what the rule does not keep; a dry run changes nothing."""
        tenant = TenantId(due.tenant)
        async with self.units.tenant(tenant) as unit:
            kept = await collection.load_kept(unit.connection, due.experiment)
            unwanted = await collection.load_unwanted(unit.connection, due.experiment)
            pins = await _pins(unit, [one.checkpoint for one in kept])
        verdicts = judge_checkpoints(kept, due.policy, pins, smaller_is_better=due.smaller_is_better)
        plan = [one for one, verdict in verdicts.items() if verdict is RetentionVerdict.goes]
        named = await self._referenced(tenant, plan)
        stays = Counter(str(verdict) for verdict in verdicts.values() if verdict is not RetentionVerdict.goes)
        stays[str(RetentionVerdict.pinned)] += len(named)
        plan = sorted({*plan, *unwanted} - named)
        going = plan if dry_run else await self._let_go(tenant, plan)
        async with self.units.tenant(tenant) as unit:
            freed_bytes = await collection.load_freed_bytes(unit.connection, going)
            if due.is_over and not dry_run:
                await collection.save_collected(unit.connection, due.experiment, unit.now)
        return Collection(
            tuple(going), {reason: count for reason, count in stays.items() if count}, freed_bytes
        )

    async def why_kept(self, tenant: TenantId, checkpoint: UUID) -> RetentionVerdict | None:
        """Return why a checkpoint may not go, whoever asks; None when it may."""
        async with self.units.tenant(tenant) as unit:
            held = (await _pins(unit, [checkpoint])).why(checkpoint)
        if held is None and await self._referenced(tenant, [checkpoint]):
            return RetentionVerdict.pinned
        return held

    async def _let_go(self, tenant: TenantId, plan: Sequence[UUID]) -> list[UUID]:
        """Those that went. Under their rows' locks the pins are looked up again: a version may have been made since the plan."""
        gone: list[UUID] = []
        for part in _parts(plan):
            async with self.units.tenant(tenant) as unit:
                gone += [one.id for one in await mark_deleting(unit, part, "collected")]
        return gone

    async def _referenced(self, tenant: TenantId, plan: Sequence[UUID]) -> set[UUID]:
        """What the searcher still names: it may have wanted a trial whose event is on its way."""
        named: set[UUID] = set()
        for part in _parts(plan):
            query = GetReferences(checkpoints=tuple(map(CheckpointId, part)))
            named |= (await self.bus.ask(query, tenant, ASK_S)).checkpoints
        return named


async def mark_deleting(unit: Unit, plan: Sequence[UUID], reason: str) -> list[CheckpointRow]:
    """Write down that these are to be deleted, but for what is held by now or is on its way already; return what goes."""
    locked = await checkpoints.lock_many(unit.connection, plan)
    movable = [one for one in locked if CHECKPOINT.moves(one.state, CheckpointTrigger.collected)]
    pins = await _pins(unit, [one.id for one in movable])
    free = [one for one in movable if pins.why(one.id) is None]
    return await checkpoints.move_many(unit.connection, free, CheckpointTrigger.collected, unit.now, reason)


async def _pins(unit: Unit, wanted: list[UUID]) -> Pins:
    starts = await collection.load_starts(unit.connection, wanted)
    newest = await collection.load_newest(unit.connection, wanted)
    return Pins(starts | newest, await collection.load_registered(unit.connection, wanted))


def _parts(plan: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for first in range(0, len(plan), AT_ONCE):
        yield plan[first : first + AT_ONCE]
