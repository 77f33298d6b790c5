"""The leader's loop: what is wanted against what there is. Woken by events, by ends of workers, and by the clock:
each second while something goes on, every ten at rest.

Intents are committed under the lease before any effect; effects (`effects`) are idempotent and repeated until recorded.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from services.provisioner import store
from services.provisioner.announce import changed, drain, provided
from services.provisioner.core.idleness import Idleness
from services.provisioner.core.instance import Instance, Trigger, moved
from services.provisioner.core.intents import Presence
from services.provisioner.core.plan import Plan, World, is_at_rest, plan_pool
from services.provisioner.effects import Effects, Means
from services.provisioner.store import Provider
from shared import faults
from shared.bus import Unit
from shared.errors import MusterError, Transient
from shared.ids import SITE, InstanceId, WorkerId, new_id
from shared.messages.pools import GetCluster
from shared.outages import Outages

BEFORE_INTENT = faults.register("provisioner.before_intent")
AFTER_INTENT = faults.register("provisioner.after_intent")
EVERY_S = 1.0
AT_REST_S = 10.0
_SAMPLES_PER_TIMEOUT = 4
_log = structlog.get_logger()


@dataclass(slots=True)
class Reconciler:
    """One term's loop; `woken` has the next pass begin at once."""

    means: Means
    effects: Effects
    woken: asyncio.Event
    _idleness: Idleness = field(default_factory=Idleness)
    _sampled_at: float = float("-inf")
    _strangers: set[WorkerId] = field(default_factory=set)
    _outages: Outages = field(default_factory=Outages)

    async def run(self, ended: asyncio.Event) -> None:
        """Passes until the term has ended. Raises Conflict (`not_leader`) when the lease was lost."""
        while not ended.is_set():
            self.woken.clear()
            pause_s = EVERY_S
            try:
                pause_s = await self.reconcile()
                self._outages.worked("reconciling")
            except Transient as error:
                self._outages.failed("reconciling", error)
                pause_s = error.retry_after_s
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), pause_s)

    async def reconcile(self) -> float:
        """The story of one pass; returns after how many seconds the next is due, if nothing wakes it before."""
        means = self.means
        # 1. A leader that may have lost its lease does nothing.
        _ = means.lease.epoch
        # 2. Load what is on record, and look at what there is.
        provider, live, presences = await self._load()
        # 3. See who is idle, where somebody could be spared.
        await self._sample(live)
        # 4. Decide.
        now = means.clock.now()
        may_launch = provider.retry_at is None or provider.retry_at <= now
        world = World(means.policy, provider.demand, live, presences, self._idleness.since, may_launch)
        plan = plan_pool(world, now)
        # 5. Record the intents and tell of them, under our epoch.
        new = [self._new(seat, now) for seat in plan.sizing.seats]
        await self._record(plan, new, provider, len(live) + len(new))
        # 6. Only now act on them.
        self.effects.begin(plan, new)
        # 7. Take away what belongs to instances that have ended.
        await self._sweep(presences.keys() - {one.worker for one in live})
        # 8. Look again soon where time alone may bring something, and as often as who is idle is sampled.
        return max(EVERY_S, self._sample_every_s) if is_at_rest(world, plan, now) else EVERY_S

    async def _load(self) -> tuple[Provider, list[Instance], Mapping[WorkerId, Presence]]:
        # The look comes first: an instance on record after it may be too new to have been seen, and is given time.
        sightings = await self.means.driver.observe()
        async with self.means.database.system() as connection:
            provider = await store.load_provider(connection, self.means.policy.pool)
            live = await store.load_live(connection, self.means.policy.pool)
        there = {
            worker: seen.presence for worker, seen in sightings.items() if seen.presence is not Presence.ENDED
        }
        return provider, live, there

    async def _sample(self, live: list[Instance]) -> None:
        policy, clock = self.means.policy, self.means.clock
        if sum(one.is_open for one in live) <= policy.minimum:
            return
        if clock.monotonic() - self._sampled_at < self._sample_every_s:
            return
        self._sampled_at = clock.monotonic()
        try:
            view = await self.means.bus.ask(GetCluster(), SITE, timeout_s=1.0)
        except MusterError as error:
            # Who may be idle is not known then, so nobody goes.
            _log.info("the scheduler did not say who is idle", error=str(error))
            self._idleness.sample({}, clock.now())
            return
        self._idleness.sample({worker.worker: worker.used_slots for worker in view.workers}, clock.now())

    @property
    def _sample_every_s(self) -> float:
        return min(AT_REST_S, self.means.policy.idle_timeout.total_seconds() / _SAMPLES_PER_TIMEOUT)

    def _new(self, seat: int, now: datetime) -> Instance:
        return self.means.policy.instance(InstanceId(new_id(self.means.clock)), seat, now)

    async def _record(self, plan: Plan, new: list[Instance], provider: Provider, instances: int) -> None:
        """One transaction for everything decided; what a handler changed meanwhile is left to the next pass."""
        sizing, policy = plan.sizing, self.means.policy
        is_new = bool(plan.moves or new or sizing.drains or sizing.undone or sizing.withdrawn)
        if not is_new and not self._has_news(provider, instances):
            return
        faults.point(BEFORE_INTENT)
        async with self.means.units.system() as unit:
            await self.means.lease.guard(unit.connection)
            for before, after in plan.moves:
                await self._save(unit, before, after)
            await self._resize(unit, plan)
            await store.save_new(unit.connection, new)
            for one in new:
                unit.emit(changed(one), tenant=SITE)
            if self._has_news(provider, instances):
                told = self._told(instances)
                unit.emit(
                    provided(await store.change_provider(unit.connection, policy.pool, **told)), tenant=SITE
                )
        faults.point(AFTER_INTENT)

    async def _resize(self, unit: Unit, plan: Plan) -> None:
        sizing, now = plan.sizing, unit.now
        for one in sizing.drains:
            if await self._save(unit, one, moved(one, Trigger.DRAIN, now)):
                unit.emit(drain(one), tenant=SITE)
        for one in sizing.undone:
            if await self._save(unit, one, moved(one, Trigger.UNDO, now)):
                unit.emit(drain(one, undo=True), tenant=SITE)
        for one in sizing.withdrawn:
            await self._save(unit, one, moved(one, Trigger.RELEASE, now))

    async def _save(self, unit: Unit, before: Instance, after: Instance) -> bool:
        if not await store.save_change(unit.connection, before, after):
            self.woken.set()
            return False
        unit.emit(changed(after), tenant=SITE)
        return True

    def _has_news(self, provider: Provider, instances: int) -> bool:
        told = self._told(instances)
        return provider.version == 0 or any(getattr(provider, name) != told[name] for name in told)

    def _told(self, instances: int) -> dict[str, int | float | str | dict[str, str] | None]:
        policy = self.means.policy
        return {
            "driver": policy.driver,
            "minimum": policy.minimum,
            "maximum": policy.maximum,
            "slots_per_instance": policy.slots_per_instance,
            "slot_kind": policy.kind,
            "labels": dict(policy.labels),
            "price_per_slot_hour": policy.price_per_slot_hour,
            "instances": instances,
        }

    async def _sweep(self, unknown: set[WorkerId]) -> None:
        """An instance that has ended leaves nothing; a folder that nobody ordered is left alone."""
        if not unknown:
            return
        async with self.means.database.system() as connection:
            ended = await store.load_ended_among(connection, unknown)
        self.effects.sweep(ended)
        for worker in unknown - set(ended) - self._strangers:
            self._strangers.add(worker)
            _log.warning("a machine that nobody ordered was left alone", worker=worker)
