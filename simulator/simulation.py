"""Assembles a simulation: machines, scheduler processes, bus, registry and owner on one clock, from one seed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from services.provisioner.core.planning.loads import WorkerLoad
from services.scheduler.core.planning.decisions import Demand
from services.scheduler.core.state.published_events import (
    Closed,
    Ended,
    Fact,
    Granted,
    WorkerDown,
    WorkerEmptied,
    WorkerUp,
)
from services.scheduler.core.state.records.pool import PoolPolicy, Quota
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.worker import Worker
from services.scheduler.core.state.worker_loads import WorkerOccupancy, loads_of_all
from shared.ids import TrialId, WorkerId
from simulator.bus import CALM, BusFaults, SimulatedBus, SimulatedStream
from simulator.control.database import SchedulerDatabase
from simulator.control.leader_term import Tempo
from simulator.control.messages import DesiredSet, ObservedSet
from simulator.control.scheduler_process import Drained, Links, SchedulerMessage, SchedulerProcess, Settled
from simulator.demand.reservations import ReservationItem, reservation_of
from simulator.demand.trial_requester import TrialOwner, tenant_id
from simulator.event_queue import EventQueue
from simulator.experiments.submission import Submission
from simulator.machines.machine import Machine, MachineLinks
from simulator.machines.machine_slots import Kind
from simulator.machines.registry import SimulatedRegistry
from simulator.machines.training import Training
from simulator.observers.observer import Observer, Observers
from simulator.provisioning.cloud import Cloud
from simulator.provisioning.connections import ProvisionerLinks as ProvisionerTies, Rented
from simulator.provisioning.provisioner import PLACE as PROVISIONER, Provisioner
from simulator.searching.messages import Saved, Stored, Verdict
from simulator.searching.searcher import PLACE as SEARCHER, Searcher, SearcherLinks as SearcherTies
from simulator.trials import WorkloadTrial

REGISTRY, OWNER = "registry", "owner"
RELIABLE = Tempo()
"""Nothing fails, and only work takes time."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The parameters of a simulation.

    Attributes:
        failing: Fraction of the times at which a trial saves or changes its pace at which its code fails instead.
        nodes: Scheduler processes; one leads.
        quotas: By (tenant,) or (tenant, workspace).
        submissions: Experiments whose trials the searcher's core creates.
        rented: Machines that the provisioner's core adds and ends, in addition to `machines`.
    """

    policy: PoolPolicy
    machines: Sequence[Kind]
    items: Sequence[WorkloadTrial]
    seed: int = 0
    tempo: Tempo = RELIABLE
    weather: BusFaults = CALM
    nodes: int = 1
    failing: float = 0.0
    quotas: Mapping[tuple[str, ...], Quota] = field(default_factory=dict)
    submissions: Sequence[Submission] = ()
    rented: Rented | None = None
    bookings: Sequence[ReservationItem] = ()


class Simulation:
    """The parts are public, so that faults can be injected; `run` advances the simulation."""

    def __init__(self, setup: Setup, watches: Sequence[Observer] = ()) -> None:
        self.setup = setup
        self.watch = Observers(watches)
        self.agenda = agenda = EventQueue()
        self.wire = SimulatedBus(agenda, setup.weather, self.chance("wire"))
        self.records = SchedulerDatabase(
            pools={setup.policy.name: _reaching(setup)},
            quotas={(tenant_id(tenant), *below): quota for (tenant, *below), quota in setup.quotas.items()},
            reservations=[
                reservation_of(booking, number, setup.policy.name)
                for number, booking in enumerate(setup.bookings)
            ],
        )
        self.inbound: SimulatedStream[SchedulerMessage] = SimulatedStream(self.wire, SEARCHER)
        to_owner: SimulatedStream[tuple[int, Fact]] = SimulatedStream(self.wire, "scheduler")
        to_searcher: SimulatedStream[tuple[int, Fact]] = SimulatedStream(self.wire, "scheduler")
        to_registry: SimulatedStream[tuple[int, Fact]] = SimulatedStream(self.wire, "scheduler")
        self._reports: SimulatedStream[Stored | Saved] = SimulatedStream(self.wire, REGISTRY)
        self.owner = TrialOwner(agenda, self.inbound, self.watch, setup.items, setup.policy.name)
        ties = SearcherTies(self.wire, self.inbound, self.watch, lambda: self.records.is_up, self._judge)
        price = setup.rented.spec.price_per_slot_hour if setup.rented else None
        self.searcher = Searcher(
            ties, setup.submissions, setup.policy.name, setup.tempo.commit_ms, price or 0.0
        )
        self.registry = SimulatedRegistry(
            self.watch, self._is_stale, self._publish_stored, agenda, self._is_off
        )
        failing = self.chance("code")
        self.training = Training(
            agenda,
            self.registry,
            self.watch,
            self._item_of,
            lambda: setup.failing > 0 and failing.random() < setup.failing,
        )
        self.machines: dict[WorkerId, Machine] = {}
        outbound: list[tuple[SimulatedStream[tuple[int, Fact]], tuple[type[Fact], ...]]] = [
            (to_owner, (Closed,))
        ]
        if setup.submissions:
            outbound.append((to_searcher, (Granted, Ended, Closed)))
        if setup.tempo.beat_ms is not None:
            # Without failures no token is ever stale, and the registry asks the tables about unknown runs.
            outbound.append((to_registry, (Granted, Ended)))
        self.provisioner: Provisioner | None = None
        demands: SimulatedStream[tuple[int, Demand]] | None = None
        if setup.rented is not None:
            self.provisioner = self._provisioner(setup.rented)
            demands = SimulatedStream(self.wire, "scheduler")
            to_provisioner: SimulatedStream[tuple[int, Fact]] = SimulatedStream(self.wire, "scheduler")
            demands.consume(PROVISIONER, self.provisioner.take_demand)
            to_provisioner.consume(PROVISIONER, self.provisioner.take_fact)
            outbound.append((to_provisioner, (WorkerUp, WorkerDown, WorkerEmptied)))
        links = Links(
            agenda, self.wire, self.records, self.inbound, outbound, self._deliver, self.watch, demands
        )
        self.nodes = [
            SchedulerProcess(f"scheduler-{number}", links, setup.tempo) for number in range(setup.nodes)
        ]
        self.on_boot: Callable[[Machine], None] = lambda machine: None
        to_owner.consume(OWNER, self.owner.take)
        to_searcher.consume(SEARCHER, self.searcher.take_fact)
        self._reports.consume(SEARCHER, self.searcher.take_report)
        to_registry.consume(REGISTRY, self.registry.take)
        self._ties = MachineLinks(
            agenda, self.training, self.registry, self.watch, self._sight, self._reaches_registry
        )

    def chance(self, name: str) -> Random:
        """Return a separate random stream, so that draws of one component do not shift another's."""
        return Random(f"{self.setup.seed}/{name}")

    def begin(self) -> None:
        """Start the schedulers, boot the machines, and schedule the workload."""
        for node in self.nodes:
            node.start()
        for kind in self.setup.machines:
            self.agenda.after(0, partial(self._boot, kind))
        self.owner.begin()
        self.searcher.begin()
        if self.provisioner is not None:
            self.provisioner.begin()

    @property
    def left(self) -> int:
        """How many of the owner's trials and how many experiments have not ended."""
        return self.owner.left + self.searcher.left

    def requests(self) -> Iterator[tuple[TrialId, int]]:
        """Yield the newest request of each trial."""
        for trial, order in self.owner.orders.items():
            yield trial, order.request.request
        for row in self.searcher.rows.experiments.values():
            for one in row.trials.values():
                yield one.id, one.request

    def stands(self, worker: WorkerId) -> bool:
        """Whether the machine still exists."""
        if self.provisioner is None or worker in {kind.name for kind in self.setup.machines}:
            return True
        return worker in self.provisioner.cloud.observe()

    def join(self, kind: Kind) -> Machine:
        """Register a machine and boot it."""
        machine = self.machines[kind.name] = Machine(kind, self._ties, self.setup.tempo.beat_ms)
        self.records.workers.setdefault(kind.name, Worker(kind.name, kind.pool))
        for node in self.nodes:
            if node.leader:
                node.leader.welcome(kind.name, kind.pool)
        machine.switch_on()
        return machine

    def _boot(self, kind: Kind) -> None:
        self.on_boot(self.join(kind))

    def run(self, until_ms: int | None = None, left: int = 0) -> bool:
        """Advance until only `left` trials and experiments are left; False: not reached by `until_ms`."""
        agenda = self.agenda
        while self.left > left:
            next_ms = agenda.next_ms()
            if next_ms is None or (until_ms is not None and next_ms > until_ms):
                return False
            agenda.step()
        return True

    def notice(self, worker: WorkerId) -> None:
        """Have the leader declare a worker lost, because without heartbeats it cannot detect it."""
        for node in self.nodes:
            if node.leader:
                node.leader.give_up(worker)

    def _provisioner(self, rented: Rented) -> Provisioner:
        cloud = Cloud(
            self.agenda, rented.manners, self.chance("cloud"), self.join, self._switch_off, self._warn
        )
        ties = ProvisionerTies(
            self.agenda, self.inbound.publish, self.watch, lambda: self.records.is_up, self._loads
        )
        return Provisioner(ties, rented.spec, cloud)

    def _is_off(self, worker: WorkerId) -> bool:
        machine = self.machines.get(worker)
        return machine is None or not machine.is_on

    def _switch_off(self, worker: WorkerId) -> None:
        self.watch.on_machine_removed(worker)
        self.machines[worker].switch_off()

    def _warn(self, worker: WorkerId) -> None:
        """Announce that a spot machine will be reclaimed: its runs save and resume elsewhere."""
        self.watch.on_trouble(worker)
        self.inbound.publish(Drained(worker, reclaim=True))

    def _loads(self) -> Mapping[WorkerId, WorkerLoad] | None:
        """`qry scheduler.snapshot`."""
        for node in self.nodes:
            if node.leader and node.is_up:
                return {name: _load(load) for name, load in loads_of_all(node.leader.cluster).items()}
        return None

    def _deliver(self, orders: DesiredSet) -> None:
        """Deliver a desired set to its machine; the reply returns to the sender."""
        machine = self.machines.get(orders.worker)
        if machine is not None:
            machine.obey(orders, lambda sighting: self._sight(orders.worker, sighting))

    def _sight(self, worker: WorkerId, sighting: ObservedSet) -> None:
        """Deliver an observed set to all processes that lead or believe they do, because a frozen leader must
        not take messages from its successor."""
        for node in self.nodes:
            if node.leader:
                self.wire.send(worker, node.name, partial(self._come, node, sighting))

    def _come(self, node: SchedulerProcess, sighting: ObservedSet) -> None:
        node.on_observed_set(sighting)
        if node.is_up:
            worker = sighting.state.worker
            self.wire.send(node.name, worker, self.machines[worker].acknowledged)

    def _reaches_registry(self, worker: WorkerId) -> bool:
        return self.wire.passes(worker, REGISTRY) and self.wire.passes(REGISTRY, worker)

    def _is_stale(self, run: Run) -> bool | None:
        """`qry scheduler.allocation`, answered by the leader from the tables."""
        if not self.records.is_up or not any(node.leader and node.is_up for node in self.nodes):
            return None
        known = self.records.runs.get(run.id)
        trial = self.records.trials.get(run.trial)
        return known is None or known.is_stale or (trial is not None and trial.runs > run.number)

    def _publish_stored(self, report: Saved | Stored) -> None:
        if isinstance(report, Saved):
            self.watch.on_settled(report.run, report.number)
            self.inbound.publish(Settled(f"{report.run.id}:{report.number}", report.run.id))
        if self.setup.submissions:
            self._reports.publish(report)

    def _judge(self, worker: WorkerId, verdict: Verdict) -> None:
        self.wire.send(SEARCHER, worker, lambda: self.machines[worker].hear_verdict(verdict))

    def _item_of(self, trial: TrialId) -> WorkloadTrial:
        return self.searcher.items.get(trial) or self.owner.orders[trial].item


def _load(load: WorkerOccupancy) -> WorkerLoad:
    return WorkerLoad(load.used_slots, load.pieces, load.gangs, load.tenant)


def _reaching(setup: Setup) -> PoolPolicy:
    """Return the pool's policy with the provider's limits."""
    if setup.rented is None:
        return setup.policy
    provided = setup.rented.spec
    return replace(
        setup.policy,
        max_slots=provided.maximum * provided.slots_per_instance,
        max_slots_per_worker=provided.slots_per_instance,
        provided_kind=provided.kind,
    )
