"""The provisioner: compares the pool's demand with its machines. Its own core decides; the rest mirrors
`services/provisioner` (reconcile, effects, handlers) on virtual time. `cloud` simulates the machines."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from services.provisioner.core.instances.instance import (
    Instance,
    InstanceState,
    InstanceTrigger,
    IntentId,
    ended,
    moved,
)
from services.provisioner.core.instances.launches import Intent, Sighting, offer_of, own_sighting
from services.provisioner.core.instances.outcomes import on_failed_attempt, on_kicked, on_launched
from services.provisioner.core.planning.listing_gaps import Absences
from services.provisioner.core.planning.loads import Loads
from services.provisioner.core.planning.migration import ExcessCost
from services.provisioner.core.planning.orphans import Bill, ProviderLeftovers, plan_sweep
from services.provisioner.core.planning.plan import PoolPlan, PoolWorld, is_idle, plan_pool
from services.provisioner.core.planning.pool_status import Demand, PoolStatus
from services.provisioner.core.planning.shortage import Shortage
from services.provisioner.core.planning.sizing import Launch
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.scheduler.core.planning.decisions import Demand as Told
from services.scheduler.core.state.published_events import Fact, WorkerDown, WorkerEmptied, WorkerUp
from services.scheduler.core.state.records.worker import Drain, Liveness
from shared.errors import Transient
from shared.ids import InstanceId, WorkerId, derived_id
from simulator.control.scheduler_process import Drained, Removed
from simulator.demand.trial_requester import ROOT
from simulator.event_queue import Act
from simulator.provisioning.cloud import CloudProvider
from simulator.provisioning.connections import ProvisionerLinks
from simulator.provisioning.instance_table import InstanceTable
from simulator.provisioning.launch_backoffs import Holds

PLACE = "provisioner"
EVERY_MS, AT_REST_MS = 1000, 10_000
_SAMPLES_PER_TIMEOUT = 4
POINTS = (
    "provisioner_before_intent",
    "provisioner_after_intent",
    "provisioner_before_effect",
    "provisioner_after_effect",
)
"""Fault points: before and after its intents are recorded, and around each effect, which is recorded afterwards."""


class Provisioner:
    """One process and its tables. It dies between an intent, its effect and the record of the effect, and
    restarts."""

    def __init__(self, ties: ProvisionerLinks, spec: PoolSpec, cloud: CloudProvider) -> None:
        self.spec = spec
        self.cloud = cloud
        self.most = 0
        """The peak number of machines."""
        self.is_up = True
        self.dies_at: tuple[str, int] | None = None
        """The next fault point at which it dies, and for how many milliseconds."""
        self._ties = ties
        self._books = InstanceTable()
        self._demand = Demand()
        self._demand_version = 0
        self._loads, self._waste, self._lack = Loads(), ExcessCost(), Shortage()
        self._absences, self._strangers = Absences(), Absences()
        self._holds = Holds()
        self._sampled_ms = -AT_REST_MS
        timeout_ms = self.spec.idle_timeout // timedelta(milliseconds=1)
        self._sample_every_ms = max(EVERY_MS, min(AT_REST_MS, timeout_ms // _SAMPLES_PER_TIMEOUT))
        self._life = 0
        self._intents = 0

    @property
    def cost(self) -> float:
        """The cost of all machines, from their orders to their ends or to now."""
        return sum(one.price_per_hour * hours for one, hours in self.hours())

    def hours(self) -> Iterator[tuple[Instance, float]]:
        """Yield how long each machine was rented."""
        for one in self.instances.values():
            if one.launched_at is not None:
                until = one.ended_at or self._ties.agenda.now
                yield one, (until - one.launched_at).total_seconds() / 3600

    @property
    def instances(self) -> Mapping[InstanceId, Instance]:
        return self._books.instances

    @property
    def live(self) -> list[Instance]:
        return self._books.live

    def begin(self) -> None:
        """Start the reconciliation loop."""
        self._look(self._life)

    def die(self, down_ms: int) -> None:
        """kill -9; memory is lost, and effects that are not recorded are repeated."""
        self.dies_at = None
        self._life += 1
        self.is_up = False
        self._loads, self._waste, self._lack = Loads(), ExcessCost(), Shortage()
        self._absences, self._strangers = Absences(), Absences()
        self._sampled_ms = self._ties.agenda.now_ms - AT_REST_MS
        self._ties.agenda.after(down_ms, self._start)

    def take_demand(self, row: tuple[int, Told], acknowledge: Act) -> None:
        """Receive a pool's demand; the newest version counts."""
        version, demand = row
        if version > self._demand_version:
            now = self._ties.agenda.now
            self._demand_version = version
            largest, sizes = demand.largest_single_node, demand.single_node
            self._demand = Demand(demand.waiting, demand.idle, demand.soon, demand.kind, now, largest, sizes)
        acknowledge()

    def take_fact(self, row: tuple[int, Fact], acknowledge: Act) -> None:
        """Receive a worker's state (joined, drained, lost); only newer versions count."""
        version, fact = row
        if isinstance(fact, WorkerUp | WorkerDown | WorkerEmptied):
            before = self._books.of_worker(fact.worker.id)
            if before is not None and not before.is_final and version > before.worker_version:
                self._save(replace(self._after(before, fact), worker_version=version))
                if isinstance(fact, WorkerUp):
                    self._holds.clear(offer_of(before), has_joined=True)
        acknowledge()

    def _after(self, before: Instance, fact: WorkerUp | WorkerDown | WorkerEmptied) -> Instance:
        now = self._ties.agenda.now
        match fact:
            case WorkerUp(worker):
                after = moved(before, InstanceTrigger.JOINED, now)
                is_schedulable = worker.liveness is Liveness.READY and worker.drain is Drain.OPEN
                return replace(
                    after,
                    is_schedulable=is_schedulable and after.state is InstanceState.READY,
                    silent_since=None,
                )
            case WorkerEmptied():
                return replace(moved(before, InstanceTrigger.EMPTIED, now), is_schedulable=False)
            case WorkerDown():
                return replace(before, is_schedulable=False, silent_since=before.silent_since or now)

    def _start(self) -> None:
        self.is_up = True
        self.begin()

    def _look(self, life: int) -> None:
        if life != self._life:
            return
        pause_ms = self._reconcile() if self._ties.is_up() else EVERY_MS
        self._ties.agenda.after(pause_ms, lambda: self._look(life))

    def _reconcile(self) -> int:
        """Run one pass; return after how many milliseconds the next is due."""
        agenda = self._ties.agenda
        # 1. Load the records, observe the machines, and detect idle and missing ones.
        try:
            sightings = self.cloud.observe()
        except Transient:
            return EVERY_MS
        live, now = self.live, agenda.now
        has_asked = self._sample(now)
        there = {one.worker for one in live if own_sighting(one, sightings)}
        self._absences.sample((one.worker for one in live), there, now)
        # 2. Decide.
        spec = self.cloud.prices(self.spec, agenda.now_ms)
        state = PoolStatus(
            self._demand,
            live,
            self._loads.idle_since,
            self._holds.all,
            loads=self._loads.now if has_asked else None,
            wasted=self._waste.spent,
            shortage=self._lack,
        )
        lateness = {spec.driver: self.cloud.lateness}
        world = PoolWorld(spec, state, sightings, self._absences.missed, lateness)
        plan = plan_pool(world, now)
        if plan.sizing.rates is not None:
            self._waste.sample(plan.sizing.rates, now)
        self._lack = plan.sizing.shortage
        # 3. Record and publish the intents.
        if not self._reaches("provisioner_before_intent"):
            return EVERY_MS
        new = [self._new(spec, launch) for launch in plan.sizing.launches]
        self._record(plan)
        # 4. Then carry them out, and end leftover machines.
        if self._reaches("provisioner_after_intent"):
            self._act(plan, new)
        if self.is_up:
            self._sweep(sightings)
        self.most = max(self.most, len(self.live))
        with suppress(Transient):
            self._ties.watch.on_machines(self.spec, self.live, self.cloud.observe())
        return self._sample_every_ms if is_idle(world, plan, now) else EVERY_MS

    def _sample(self, now: datetime) -> bool:
        """Sample which workers are idle, less often than machines are observed; False: not now."""
        now_ms = self._ties.agenda.now_ms
        if now_ms - self._sampled_ms < self._sample_every_ms:
            return False
        self._sampled_ms = now_ms
        self._loads.sample(self._ties.loads() or {}, now)
        return True

    def _new(self, spec: PoolSpec, launch: Launch) -> Intent:
        self._intents += 1
        name = IntentId(derived_id(ROOT, "intent", self._intents))
        made = spec.intent(name, launch.offer, launch.pool_indexes, self._ties.agenda.now)
        for one in made.instances:
            self._save(one)
        return made

    def _record(self, plan: PoolPlan) -> None:
        now, send = self._ties.agenda.now, self._ties.send
        for _, after in plan.transitions:
            self._save(after)
        for one, refusal in plan.refusals:
            self._holds.take(offer_of(one), refusal, now)
        for one in (*plan.sizing.drains, *plan.sizing.moved):
            self._save(moved(one, InstanceTrigger.DRAIN, now))
            send(Drained(one.worker, reclaim=one in plan.sizing.moved))
        for one in plan.sizing.undrained:
            self._save(moved(one, InstanceTrigger.UNDO, now))
            send(Drained(one.worker, reclaim=False, undo=True))
        for one in plan.sizing.withdrawn:
            self._save(moved(one, InstanceTrigger.RELEASE, now))

    def _act(self, plan: PoolPlan, new: list[Intent]) -> None:
        acts: list[Act] = [
            partial(self._launch, intent) for intent in (*map(self._again, plan.launches), *new)
        ]
        acts += [partial(self._kick, one) for one in plan.kills]
        acts += [partial(self._end_extra, worker, extra) for worker, extra in plan.extras]
        acts += [partial(self._end, one) for one in plan.terminations]
        for act in acts:
            if self._reaches("provisioner_before_effect"):
                act()
            if not self.is_up:
                return

    def _kick(self, one: Instance) -> None:
        self._save(on_kicked(self.instances[one.id], self._ties.agenda.now))

    def _end(self, one: Instance) -> None:
        self._ties.watch.on_ended(one)
        try:
            self.cloud.terminate(one.worker, one.external_id)
        except Transient as error:
            self._save(on_failed_attempt(self.instances[one.id], self._ties.agenda.now, str(error)))
            return
        if self._reaches("provisioner_after_effect"):
            self._save(ended(self.instances[one.id], self._ties.agenda.now))
            self._ties.send(Removed(one.worker))

    def _end_extra(self, worker: WorkerId, extra: str) -> None:
        with suppress(Transient):
            self.cloud.terminate(worker, extra)

    def _sweep(self, sightings: Mapping[WorkerId, Sighting]) -> None:
        """End machines that have no record, or whose instance has ended."""
        live = set(self._books.live_workers())
        left = {worker: one for worker, one in sightings.items() if worker not in live}
        known = {worker: one for worker in left if (one := self._books.of_worker(worker)) is not None}
        bills = {
            worker: Bill(one.external_id, one.launched_at, one.ended_at) for worker, one in known.items()
        }
        now = self._ties.agenda.now
        self._strangers.sample(left.keys() - bills.keys(), (), now)
        swept = plan_sweep(
            ProviderLeftovers(left, bills, self._strangers.missed, self.cloud.lateness, True), now
        )
        for worker, bill in swept.bills.items():
            self._save(replace(known[worker], launched_at=bill.launched_at, ended_at=bill.ended_at))
        for worker, machine in swept.terminations:
            with suppress(Transient):
                self.cloud.terminate(worker, machine)

    def _again(self, name: IntentId) -> Intent:
        called = self._books.of_intent(name)
        return Intent(name, called[0].pool, offer_of(called[0]), called)

    def _launch(self, intent: Intent) -> None:
        """Launch. If the process dies before the outcome is recorded, the next pass finds the machines or
        repeats the call."""
        now = self._ties.agenda.now
        wanted = tuple(
            one for one in intent.instances if self.instances[one.id].state is InstanceState.REQUESTED
        )
        launched = self.cloud.launch(replace(intent, instances=wanted))
        if not self._reaches("provisioner_after_effect"):
            return
        for one in wanted:
            self._save(on_launched(self.instances[one.id], launched, now))
        if launched.refused is not None:
            self._holds.take(offer_of(wanted[0]), launched.refused, now)
        else:
            self._holds.clear(offer_of(wanted[0]), has_joined=False)

    def _save(self, one: Instance) -> None:
        self._books.save(one)

    def _reaches(self, point: str) -> bool:
        if self.dies_at is None or self.dies_at[0] != point:
            return True
        self.die(self.dies_at[1])
        return False
