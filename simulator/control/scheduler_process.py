"""A scheduler process: stands by, leads while it holds the lease, freezes, dies between any two steps, and
restarts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.scheduler.core.planning.decisions import Demand
from services.scheduler.core.reducers import requests
from services.scheduler.core.reducers.workers import on_removed
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.published_events import Fact
from services.scheduler.core.state.records.trial import TrialRequest
from shared.ids import RunId, WorkerId
from simulator.bus import SimulatedBus, SimulatedStream
from simulator.control.database import LEASE_MS, SchedulerDatabase
from simulator.control.leader_term import Leader, Tempo
from simulator.control.messages import DesiredSet, ObservedSet
from simulator.event_queue import Act, EventQueue
from simulator.observers.observer import Observer

PULSE_MS = 250
RECONCILE_MS = 5000


@dataclass(frozen=True, slots=True)
class TrialRequested:
    """`trial.requested`. `policy`: the experiment's policy, unless it has one."""

    request: TrialRequest
    policy: ExperimentPolicy


@dataclass(frozen=True, slots=True)
class Settled:
    """`checkpoint.saved` or `checkpoint.abandoned`; `id` names the message."""

    id: str
    run: RunId


@dataclass(frozen=True, slots=True)
class Drained:
    """`cmd scheduler.drain_worker`."""

    worker: WorkerId
    reclaim: bool
    undo: bool = False


@dataclass(frozen=True, slots=True)
class Removed:
    """`instance.changed`: the instance was removed."""

    worker: WorkerId


SchedulerMessage = TrialRequested | Settled | Drained | Removed


@dataclass(slots=True)
class Links:
    """The connections of a scheduler process. `outbound`: the streams and the facts that each receives."""

    agenda: EventQueue
    wire: SimulatedBus
    records: SchedulerDatabase
    inbound: SimulatedStream[SchedulerMessage]
    outbound: Sequence[tuple[SimulatedStream[tuple[int, Fact]], tuple[type[Fact], ...]]]
    deliver: Callable[[DesiredSet], None]
    watch: Observer
    demands: SimulatedStream[tuple[int, Demand]] | None = None


class SchedulerProcess:
    """One process. Work pending when it froze continues when it thaws; work pending when it died does not."""

    def __init__(self, name: str, links: Links, tempo: Tempo) -> None:
        self.name = name
        self.agenda = links.agenda
        self.records = links.records
        self.watch = links.watch
        self.leader: Leader | None = None
        self.dies_at: tuple[str, int] | None = None
        """The next fault point at which it dies, and for how many milliseconds."""
        self._links = links
        self._tempo = tempo
        self._life = 0
        self._is_frozen = False
        self._is_dead = False
        self._backlog: list[tuple[int, Act]] = []
        self._epoch = 0
        self._until_ms = -1

    @property
    def is_up(self) -> bool:
        return not (self._is_dead or self._is_frozen)

    def start(self) -> None:
        """Start to stand by."""
        self._life += 1
        self._is_dead = False
        self._every(LEASE_MS // 3, self._keep_lease)
        if self._tempo.beat_ms is not None:
            self._every(PULSE_MS, self._pulse)
            self._every(RECONCILE_MS, self._reconcile)
        self._every(self._tempo.tick_ms, self._tick)

    def die(self, down_ms: int) -> None:
        """kill -9; restart after `down_ms`."""
        self.dies_at = None
        self.agenda.after(down_ms, self.start)
        self._is_dead, self._is_frozen = True, False
        self._life += 1
        self._backlog.clear()
        self._links.inbound.leave(self.name)
        if self.leader:
            self.leader.end()
            self.leader = None

    def freeze(self) -> None:
        self._is_frozen = True

    def thaw(self) -> None:
        """Resume, and run everything that was due meanwhile."""
        self._is_frozen = False
        backlog, self._backlog = self._backlog, []
        for life, act in backlog:
            self._do(life, act)

    def on_observed_set(self, sighting: ObservedSet) -> None:
        """Receive a worker's observed set."""
        self._do(self._life, lambda: self.leader.on_observed_set(sighting) if self.leader else None)

    # --- the leader's interface to its process

    def later(self, delay_ms: int, act: Act) -> None:
        life = self._life
        self.agenda.after(delay_ms, lambda: self._do(life, act))

    def holds_lease(self) -> bool:
        return self._tempo.beat_ms is None or self.agenda.now_ms < self._until_ms

    def end_term(self) -> None:
        if self.leader:
            self.leader.end()
            self.leader = None
            self._until_ms = -1
            self._links.inbound.leave(self.name)

    def publish(self, rows: list[int]) -> None:
        for row in self.records.take_outbox(rows):
            for stream, kinds in self._links.outbound:
                if isinstance(row[1], kinds):
                    stream.publish(row)

    def carry(self, orders: DesiredSet) -> None:
        if self.is_up:
            self._links.wire.send(self.name, orders.worker, lambda: self._links.deliver(orders))

    def publish_demand(self, version: int, demand: Demand) -> None:
        if self._links.demands is not None:
            self._links.demands.publish((version, demand))

    def reaches(self, point: str) -> bool:
        if self.dies_at is None or self.dies_at[0] != point:
            return True
        self.die(self.dies_at[1])
        return False

    # --- its own loops

    def _do(self, life: int, act: Act) -> None:
        if life != self._life or self._is_dead:
            return
        if self._is_frozen:
            self._backlog.append((life, act))
        else:
            act()

    def _every(self, period_ms: int, act: Act) -> None:
        def again() -> None:
            act()
            self.later(period_ms, again)

        self.later(0, again)

    def _keep_lease(self) -> None:
        now_ms = self.agenda.now_ms
        if self.leader is None:
            epoch = self.records.take_lease(self.name, now_ms)
            if epoch is not None:
                self._lead(epoch, now_ms)
        elif self._tempo.beat_ms is None or self.records.renew_lease(self.name, self._epoch, now_ms):
            self._until_ms = now_ms + LEASE_MS
        elif self.records.is_up or now_ms >= self._until_ms:
            self.end_term()

    def _lead(self, epoch: int, now_ms: int) -> None:
        self._epoch, self._until_ms = epoch, now_ms + LEASE_MS
        self.leader = leader = Leader(self, epoch, self._tempo)
        leader.begin()
        self._links.inbound.consume(
            self.name, lambda message, ack: self._do(self._life, lambda: self._handle(leader, message, ack))
        )

    def _tick(self) -> None:
        if self.leader:
            self.leader.push(lambda cluster, now: None)
        if self.records.is_up:
            # Publish what an earlier leader committed without publishing.
            self.publish(list(self.records.outbox))

    def _pulse(self) -> None:
        leader = self.leader
        if leader is None:
            return
        echo = lambda: self._do(self._life, lambda: leader.silence.on_echo(self.agenda.monotonic_s))  # noqa: E731
        self._links.wire.send(self.name, self.name, echo)
        leader.give_up_silent()

    def _reconcile(self) -> None:
        if self.leader:
            self.leader.reconcile()

    def _handle(self, leader: Leader, message: SchedulerMessage, ack: Act) -> None:
        """Store the message and, after the commit, push it to the leader."""

        def commit() -> None:
            if not self.records.is_up:
                self.later(1000, commit)
                return
            event = self._keep(message)
            if not self.reaches("after_handler_commit"):
                return
            ack()
            if event is not None:
                event(leader)

        if self._tempo.commit_ms:
            self.later(self._tempo.commit_ms, commit)
        else:
            commit()

    def _keep(self, message: SchedulerMessage) -> Callable[[Leader], None] | None:
        """Run the transaction for a message; the inbox drops repeated ones."""
        records = self.records
        match message:
            case TrialRequested(request, policy):
                if not records.is_first(f"{request.trial}:{request.version}"):
                    return None
                records.save_request(request, self.agenda.now_ms)
                policy = records.policies.setdefault(request.experiment, policy)
                return lambda leader: leader.apply_request(request, policy)
            case Settled(id_, run):
                if not records.is_first(id_):
                    return None
                records.settle(run)
                return lambda leader: leader.push(lambda c, now: c.apply(requests.on_settled(c, run, now)))
            case Drained(worker, reclaim, undo):
                if undo:
                    records.draining.pop(worker, None)
                else:
                    records.draining[worker] = reclaim
                return lambda leader: leader.drain(worker, reclaim, undo)
            case Removed(worker):
                records.removed.add(worker)
                return lambda leader: leader.push(lambda c, now: c.apply(on_removed(c, worker, now)))
