"""The leader's loop: compare desired and actual machines.

Events, ends of workers and a timer wake it: every second while something is in progress, every ten seconds when idle.
Intents are committed under the lease before any effect; effects (`driver_calls`) are idempotent and repeated until
recorded.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from services.provisioner import store
from services.provisioner.core.instances.instance import Instance, InstanceTrigger, IntentId, moved
from services.provisioner.core.instances.launches import Intent, Sighting, offer_of, own_sighting
from services.provisioner.core.instances.refusals import fault_of
from services.provisioner.core.planning.listing_gaps import Absences
from services.provisioner.core.planning.loads import Loads
from services.provisioner.core.planning.migration import ExcessCost
from services.provisioner.core.planning.plan import PoolPlan, PoolWorld, is_idle, plan_pool
from services.provisioner.core.planning.pool_status import PoolStatus
from services.provisioner.core.planning.shortage import Shortage
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.events import changed, drain, provided
from services.provisioner.pools.current_pools import budgets_of, month_of
from services.provisioner.reconcile.driver_calls import Effects, TermContext
from services.provisioner.reconcile.observed_state import (
    Observation,
    PoolView,
    could_spare,
    load_of,
    visibility_problem,
)
from services.provisioner.reconcile.orphans import Sweep
from services.provisioner.store import PoolRecord
from shared.bus import Unit
from shared.errors import MusterError, Transient
from shared.ids import SITE, PoolName, WorkerId, new_id
from shared.messages.pools import GetCluster
from shared.runtime import faults
from shared.runtime.outages import Outages

BEFORE_INTENT = faults.register("provisioner.before_intent")
AFTER_INTENT = faults.register("provisioner.after_intent")
EVERY_S = 1.0
AT_REST_S = 10.0
_SAMPLES_PER_TIMEOUT = 4
_log = structlog.get_logger()


@dataclass(slots=True)
class Reconciler:
    """The loop of one term; setting `woken` starts the next pass at once."""

    means: TermContext
    effects: Effects
    woken: asyncio.Event
    _loads: Loads = field(default_factory=Loads)
    _wastes: dict[PoolName, ExcessCost] = field(default_factory=dict)
    _shortages: dict[PoolName, Shortage] = field(default_factory=dict)
    _absences: Absences = field(default_factory=Absences)
    _sampled_at: float = float("-inf")
    _outages: Outages = field(default_factory=Outages)
    _sweep: Sweep = field(init=False)

    def __post_init__(self) -> None:
        self._sweep = Sweep(self.means, self.effects)

    async def run(self, ended: asyncio.Event) -> None:
        """Run passes until the term has ended. Raises Conflict (`not_leader`) if the lease was lost."""
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
        """Run one pass and return after how many seconds the next is due without a wake-up."""
        means = self.means
        # 1. A leader that may have lost its lease does nothing.
        _ = means.lease.epoch
        # 2. List machines, then load the records.
        view = await self._load()
        # 3. Sample the load if a worker could be drained, and record which machines providers no longer list.
        has_asked = await self._sample(view)
        now = means.clock.now()
        seen = view.seen
        expected = [one for one in view.live if one.driver not in view.unreachable]
        there = {one.worker for one in expected if own_sighting(one, seen)}
        self._absences.sample((one.worker for one in expected), there, now)
        is_quiet = True
        for pool in view.pools:
            # 4. Decide, for each pool whose machines are listed.
            if (problem := visibility_problem(pool, view.unreachable, means.drivers)) is not None:
                is_quiet = False
                await self._publish(pool.row, {"fault": problem})
                continue
            world = self._world(pool, view, seen, has_asked)
            plan = plan_pool(world, now)
            self._remember(pool.row.pool, plan, now)
            # 5. Record and publish the intents, under our epoch.
            new = self._intents(pool.spec, plan, now)
            await self._record(pool, plan, new, fault_of(view.holds, pool.spec.offers, now))
            # 6. Only now start the effects.
            self.effects.begin(plan, _after(world, plan), new)
            is_quiet = is_quiet and is_idle(world, plan, now)
        for row, problem in view.unusable:
            await self._publish_unusable(row, problem)
        # 7. Terminate machines of ended instances and machines without a record.
        await self._sweep.run(view.sightings, view.live, now)
        # 8. Run again soon if time alone may change something, and as often as the load is sampled.
        return max(EVERY_S, self._sample_every_s(view)) if is_quiet else EVERY_S

    async def _load(self) -> Observation:
        # Listing comes first: an instance recorded after it may be too new to be listed, and is given time.
        names = list(self.means.drivers)
        looks = [self.means.drivers[name].observe() for name in names]
        sightings, unreachable = {}, {}
        for name, look in zip(names, await asyncio.gather(*looks, return_exceptions=True), strict=True):
            if isinstance(look, MusterError):
                self._outages.failed(f"listing machines of {name}", look)
                unreachable[name] = look
            elif isinstance(look, BaseException):
                raise look
            else:
                self._outages.worked(f"listing machines of {name}")
                sightings[name] = look
        now = self.means.clock.now()
        async with self.means.database.system() as connection:
            rows = await store.load_providers(connection)
            live = await store.load_live(connection)
            holds = await store.load_backoffs(connection, now)
            has_budgets = any(row.definition and row.definition.budget_per_month for row in rows)
            spent = await store.load_spent(connection, month_of(now), now) if has_budgets else {}
        pools, unusable = [], []
        for row in rows:
            mine = [one for one in live if one.pool == row.pool]
            spec, problem = self.means.pools.spec_of(row, mine)
            if spec is not None:
                pools.append(PoolView(row, spec, problem, mine))
            elif problem is not None:
                unusable.append((row, problem))
        return Observation(pools, unusable, sightings, unreachable, holds, spent)

    def _world(
        self, pool: PoolView, view: Observation, seen: Mapping[WorkerId, Sighting], has_asked: bool
    ) -> PoolWorld:
        status = PoolStatus(
            pool.row.demand,
            pool.live,
            self._loads.idle_since,
            view.holds,
            budgets_of(pool.spec, view.spent, self.means.clock.now()),
            loads=self._loads.now if has_asked else None,
            wasted=self._wastes.setdefault(pool.row.pool, ExcessCost()).spent,
            shortage=self._shortages.get(pool.row.pool, Shortage()),
        )
        lateness = {name: driver.lateness for name, driver in self.means.drivers.items()}
        return PoolWorld(pool.spec, status, seen, self._absences.missed, lateness)

    def _remember(self, pool: PoolName, plan: PoolPlan, now: datetime) -> None:
        """Store what only this term knows: excess costs of machines, and shortages."""
        self._shortages[pool] = plan.sizing.shortage
        if plan.sizing.rates is not None:
            self._wastes[pool].sample(plan.sizing.rates, now)

    async def _sample(self, view: Observation) -> bool:
        """Sample the load of workers, if any could be drained or migrated. Returns False if not sampled now."""
        clock = self.means.clock
        if not any(could_spare(pool) for pool in view.pools):
            return False
        if clock.monotonic() - self._sampled_at < self._sample_every_s(view):
            return False
        self._sampled_at = clock.monotonic()
        try:
            cluster = await self.means.bus.ask(GetCluster(), SITE, timeout_s=1.0)
        except MusterError as error:
            # Idle workers are unknown then, so none is drained.
            _log.info("the scheduler did not report which workers are idle", error=str(error))
            self._loads.sample({}, clock.now())
            return False
        self._loads.sample({worker.worker: load_of(worker) for worker in cluster.workers}, clock.now())
        return True

    def _sample_every_s(self, view: Observation) -> float:
        shortest = min((pool.spec.idle_timeout.total_seconds() for pool in view.pools), default=AT_REST_S)
        return min(AT_REST_S, shortest / _SAMPLES_PER_TIMEOUT)

    def _intents(self, spec: PoolSpec, plan: PoolPlan, now: datetime) -> list[Intent]:
        """Return a launch for each offer, or several if the provider limits the machines of one launch."""
        made = []
        for launch in plan.sizing.launches:
            most = self.means.drivers[launch.offer.kind.provider].most_per_intent
            for at in range(0, len(launch.pool_indexes), most):
                intent = IntentId(new_id(self.means.clock))
                made.append(spec.intent(intent, launch.offer, launch.pool_indexes[at : at + most], now))
        return made

    async def _record(self, pool: PoolView, plan: PoolPlan, new: list[Intent], held: str | None) -> None:
        """Save all decisions in one transaction. Rows that a handler changed meanwhile are left to the next pass."""
        sizing = plan.sizing
        instances = [one for intent in new for one in intent.instances]
        fault = "; ".join(part for part in (pool.problem, held, sizing.shortfall) if part) or None
        published = {
            **store.published_fields(pool.spec),
            "instances": len(pool.live) + len(instances),
            "fault": fault,
        }
        has_changed = pool.row.version == 0 or any(
            getattr(pool.row, name) != published[name] for name in published
        )
        is_new = bool(
            plan.transitions
            or instances
            or sizing.drains
            or sizing.undrained
            or sizing.withdrawn
            or sizing.moved
        )
        is_over = pool.row.is_closing and not pool.live
        if not is_new and not has_changed and not is_over:
            return
        faults.point(BEFORE_INTENT)
        async with self.means.units.system() as unit:
            await self.means.lease.guard(unit.connection)
            for before, after in plan.transitions:
                await self._save(unit, before, after)
            for one, refusal in plan.refusals:
                await store.save_hold(unit, offer_of(one), refusal)
            await self._resize(unit, plan)
            await store.save_new(unit.connection, instances)
            for one in instances:
                unit.emit(changed(one), tenant=SITE)
            if has_changed:
                row = await store.change_provider(unit.connection, pool.row.pool, **published)
                unit.emit(provided(row), tenant=SITE)
            if is_over:
                await store.drop_pool(unit.connection, pool.row.pool)
        faults.point(AFTER_INTENT)

    async def _publish_unusable(self, row: PoolRecord, problem: str) -> None:
        if row.is_closing and row.definition is None:
            return  # The pool's removal was already published.
        await self._publish(
            row, {"maximum": 0, "minimum": 0, "instances": 0, "fault": problem}, row.is_closing
        )

    async def _publish(self, row: PoolRecord, published: Mapping[str, object], is_over: bool = False) -> None:
        """Publish changed fields of a pool, and drop a pool that is over."""
        if not is_over and all(getattr(row, name) == value for name, value in published.items()):
            return
        async with self.means.units.system() as unit:
            await self.means.lease.guard(unit.connection)
            unit.emit(
                provided(await store.change_provider(unit.connection, row.pool, **published)), tenant=SITE
            )
            if is_over:
                await store.drop_pool(unit.connection, row.pool)

    async def _resize(self, unit: Unit, plan: PoolPlan) -> None:
        sizing, now = plan.sizing, unit.now
        for one in (*sizing.drains, *sizing.moved):
            if await self._save(unit, one, moved(one, InstanceTrigger.DRAIN, now)):
                unit.emit(drain(one, reclaim=one in sizing.moved), tenant=SITE)
        for one in sizing.undrained:
            if await self._save(unit, one, moved(one, InstanceTrigger.UNDO, now)):
                unit.emit(drain(one, undo=True), tenant=SITE)
        for one in sizing.withdrawn:
            await self._save(unit, one, moved(one, InstanceTrigger.RELEASE, now))

    async def _save(self, unit: Unit, before: Instance, after: Instance) -> bool:
        if not await store.save_change(unit.connection, before, after):
            self.woken.set()
            return False
        unit.emit(changed(after), tenant=SITE)
        return True


def _after(world: PoolWorld, plan: PoolPlan) -> list[Instance]:
    """Return all live instances after the plan's transitions."""
    moved_to = {before.id: after for before, after in plan.transitions}
    return [moved_to.get(one.id, one) for one in world.status.live]
