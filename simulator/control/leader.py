"""A leader's term: takes what has happened, plans, saves, tells. The deciding is the scheduler's own core; the rest mirrors
`services/scheduler` (cycle, handlers, pulse, reconcile) on virtual time. Neighbours: `scheduler_process` gives and ends terms."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.scheduler.core.planning.decisions import Demand
from services.scheduler.core.reducers import draining, requests
from services.scheduler.core.reducers.workers import on_heartbeat, on_joined, on_worker_lost
from services.scheduler.core.scheduling import Event, defer_save, run_cycle
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.liveness import LEASE_S, SilenceDetector
from services.scheduler.core.state.records.trial import TrialRequest
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import PoolName, RunId, WorkerId
from simulator.control.database import NotLeader, SchedulerDatabase
from simulator.control.desired_state import DesiredStateSender
from simulator.control.messages import DesiredSet, ObservedSet
from simulator.event_queue import EventQueue
from simulator.observers.observer import Observer


@dataclass(frozen=True, slots=True)
class Tempo:
    """How long things take in a scheduler, in milliseconds.

    Attributes:
        turn_ms: From an event to the turn that takes it up: what comes meanwhile is taken up together.
        commit_ms: A transaction.
        tick_ms: The longest time between two turns.
        beat_ms: Between two heartbeats of a worker; None: nothing ever fails, so neither heartbeats nor leases are needed.
    """

    turn_ms: int = 0
    commit_ms: int = 0
    tick_ms: int = 1000
    beat_ms: int | None = None


class Process(Protocol):
    """What a leader uses of the process it lives in."""

    name: str
    agenda: EventQueue
    records: SchedulerDatabase
    watch: Observer

    def later(self, delay_ms: int, act: Callable[[], None]) -> None:
        """After a delay, unless the process has died meanwhile."""
        ...

    def holds_lease(self) -> bool: ...

    def end_term(self) -> None: ...

    def publish(self, rows: list[int]) -> None:
        """Hand rows of the outbox to the bus."""
        ...

    def carry(self, orders: DesiredSet) -> None: ...

    def tell_demand(self, version: int, demand: Demand) -> None:
        """What a pool could use beyond what stands, when that has changed."""
        ...

    def reaches(self, point: str) -> bool:
        """Whether the process lives past a point of fault."""
        ...


class Leader:
    """One term under one epoch; its memory ends with it."""

    def __init__(self, process: Process, epoch: int, tempo: Tempo) -> None:
        self.epoch = epoch
        self.is_over = False
        self.process = process
        self.tempo = tempo
        self.cluster = process.records.load(process.agenda.now)
        self.silence = SilenceDetector(process.agenda.monotonic_s)
        self.dispatch = DesiredStateSender(
            self.cluster, epoch, process.carry, process.later, retries=tempo.beat_ms is not None
        )
        self._events: list[Event] = []
        self._demands: dict[PoolName, Demand] = {}
        self._told: dict[PoolName, Demand] = {}
        self._versions = 0
        self._is_turning = False
        self._last_token = process.records.next_block()
        self._seen: dict[WorkerId, tuple[int, int]] = {}

    def begin(self) -> None:
        """Everything that was owed to workers is sent again: their sets carry a new epoch."""
        ready = [worker.id for worker in self.cluster.workers.values() if worker.liveness == "ready"]
        for worker in ready:
            self.silence.watch(worker)
        self.dispatch.send(ready, self.process.agenda.now_ms)
        self._wake()

    def end(self) -> None:
        self.is_over = True
        self.dispatch.close()

    def push(self, event: Event) -> None:
        """Have `event` applied in the next turn, which begins as soon as the one in hand has ended."""
        self._events.append(event)
        self._wake()

    def take_wish(self, wish: TrialRequest, part: ExperimentPolicy) -> None:
        """A handler has kept a wish: the world learns it."""

        def apply(cluster: Cluster, now: datetime) -> None:
            if wish.experiment not in cluster.parts:
                cluster.put_part(wish.experiment, part)
            before = self.process.records.trials.get(wish.trial)
            if before is not None and before.is_closed and wish.trial not in cluster.trials:
                # A trial of an earlier request, which has left memory.
                cluster.put_trial(before, lazily=True)
            self.process.records.last_place += 1
            cluster.apply(requests.on_request(cluster, wish, self.process.records.last_place, now))

        self.push(apply)

    def welcome(self, worker: WorkerId, pool: PoolName) -> None:
        """A worker has got credentials."""
        self.push(lambda cluster, _: cluster.apply(on_joined(cluster, worker, pool)))

    def drain(self, worker: WorkerId, reclaim: bool, undo: bool) -> None:
        """A worker is to take nothing more, or may again."""

        def apply(cluster: Cluster, _: datetime) -> None:
            cluster.apply(draining.on_drain(cluster, worker, reclaim=reclaim, undo=undo))

        self.push(apply)

    def hear(self, sighting: ObservedSet) -> None:
        """Take an observed set of a worker that has joined, unless a newer one was taken before."""
        told = sighting.heard
        if told.worker not in self.process.records.workers or not self._is_next(sighting):
            return
        self.silence.on_heard(told.worker, self.process.agenda.monotonic_s)
        if sighting.answers is not None:
            self.dispatch.answered(told.worker, sighting.answers, self.process.agenda.now_ms)

        def apply(cluster: Cluster, now: datetime) -> None:
            cluster.apply(on_heartbeat(cluster, told, now))
            if self.tempo.beat_ms is not None:
                self.dispatch.compare(told.worker, told.allocations, self.process.agenda.now_ms)

        self.push(apply)

    def give_up_silent(self) -> None:
        """Workers whose lease has run out are lost, while the leader hears its own echo."""
        for worker in self.silence.take_silent(self.process.agenda.monotonic_s):
            self.give_up(worker)

    def give_up(self, worker: WorkerId) -> None:
        self.push(_silence(worker, f"worker {worker} was not heard for {LEASE_S:g} s"))

    def reconcile(self) -> None:
        """The slow loop: what a handler of an earlier leader stored too late for us to load."""
        records, cluster = self.process.records, self.cluster
        if not records.is_up:
            return
        for wish in records.late_wishes(self.process.agenda.now_ms - 60_000):
            known = cluster.trials.get(wish.trial)
            if known is None or known.wish.version < wish.version:
                self.take_wish(wish, records.parts[wish.experiment])
        awaited = {a.run for t in cluster.awaiting if (a := cluster.trials[t].awaited) is not None}
        for run in awaited:
            missing = (
                records.settled.get(run, 0) - cluster.runs[run].progress.settled if run in cluster.runs else 0
            )
            if missing > 0:
                self.push(_settled(run, missing))

    def turn(self) -> None:
        """The story of one cycle."""
        # 1. A leader that may have lost its lease decides nothing.
        if not self.process.holds_lease():
            self.process.end_term()
            return
        # 2. Advance the world by what has happened, plan, and make the plan part of the world.
        events, self._events = self._events, []
        turn = run_cycle(self.cluster, events, self._next_token, self.process.agenda.now)
        self.process.watch.on_turn(self.cluster, turn.plan)
        self._demands |= turn.plan.demand
        # 3. Save and tell in one transaction, which holds only under our epoch.
        changes = turn.unsaved
        if changes.facts or changes.trials or changes.runs or changes.workers:
            self._is_turning = True
            self.dispatch.hold()
            if self.process.reaches("before_save"):
                self._after_commit_time(lambda: self._save(changes))
        else:
            defer_save(self.cluster, changes)
            self._send(changes)

    def _after_commit_time(self, act: Callable[[], None]) -> None:
        if self.tempo.commit_ms:
            self.process.later(self.tempo.commit_ms, act)
        else:
            act()

    def _save(self, changes: Unsaved) -> None:
        if self.is_over:
            return
        records = self.process.records
        try:
            if not records.is_up:
                raise NotLeader
            rows = records.save(self.epoch, self.cluster, changes)
        except NotLeader:
            # Memory is ahead of the tables: a new term must read them.
            self.process.end_term()
            return
        self.process.watch.on_commit(self.cluster, changes)
        if not self.process.reaches("after_save"):
            return
        self.process.publish(rows)
        if not self.process.reaches("before_desired"):
            return
        self.dispatch.release(self.process.agenda.now_ms)
        # 4. Send the new desired sets out.
        self._send(changes)
        self._is_turning = False
        if self._events:
            self._wake()

    def _send(self, changes: Unsaved) -> None:
        for pool, demand in self._demands.items():
            if self._told.get(pool) != demand:
                self._told[pool] = demand
                self._versions += 1
                self.process.tell_demand((self.epoch << 24) + self._versions, demand)
        self._demands.clear()
        # By name: the order of a set differs from process to process.
        self.dispatch.send(sorted(changes.desired), self.process.agenda.now_ms)

    def _wake(self) -> None:
        if not self._is_turning and not self.is_over:
            self._is_turning = True
            self.process.later(self.tempo.turn_ms, self._turn)

    def _turn(self) -> None:
        if not self.is_over:
            self._is_turning = False
            self.turn()

    def _next_token(self) -> int:
        self._last_token += 1
        return self._last_token

    def _is_next(self, sighting: ObservedSet) -> bool:
        number = (sighting.incarnation, sighting.sequence)
        if number <= self._seen.get(sighting.heard.worker, (0, 0)):
            return False
        self._seen[sighting.heard.worker] = number
        return True


def _silence(worker: WorkerId, reason: str) -> Event:
    def apply(cluster: Cluster, now: datetime) -> None:
        if worker in cluster.workers:
            cluster.apply(on_worker_lost(cluster, worker, reason, now))

    return apply


def _settled(run: RunId, count: int) -> Event:
    return lambda cluster, now: cluster.apply(requests.on_settled(cluster, run, now, count))
