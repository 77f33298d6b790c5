"""A leader's term: apply events, plan, save, publish. The scheduler's own core decides; the rest mirrors
`services/scheduler` (cycle, handlers, heartbeats, reconcile) on virtual time. `scheduler_process` starts and ends terms."""

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
    """Durations in a scheduler, in milliseconds.

    Attributes:
        cycle_delay_ms: From an event to the cycle that applies it; events in between share the cycle.
        commit_ms: Duration of a transaction.
        tick_ms: Maximum time between two cycles.
        beat_ms: Interval of worker heartbeats. None: nothing fails, so neither heartbeats nor leases are simulated.
    """

    cycle_delay_ms: int = 0
    commit_ms: int = 0
    tick_ms: int = 1000
    beat_ms: int | None = None


class Process(Protocol):
    """The interface of a scheduler process to its leader."""

    name: str
    agenda: EventQueue
    records: SchedulerDatabase
    watch: Observer

    def later(self, delay_ms: int, act: Callable[[], None]) -> None:
        """Run a callback after a delay, unless the process dies before."""
        ...

    def holds_lease(self) -> bool: ...

    def end_term(self) -> None: ...

    def publish(self, rows: list[int]) -> None:
        """Publish rows of the outbox."""
        ...

    def carry(self, orders: DesiredSet) -> None: ...

    def publish_demand(self, version: int, demand: Demand) -> None:
        """Publish a pool's changed demand."""
        ...

    def reaches(self, point: str) -> bool:
        """Whether the process survives a fault point."""
        ...


class Leader:
    """One term under one epoch. Its memory ends with the term."""

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
        self._published: dict[PoolName, Demand] = {}
        self._versions = 0
        self._is_busy = False
        self._last_token = process.records.next_block()
        self._seen: dict[WorkerId, tuple[int, int]] = {}

    def begin(self) -> None:
        """Send every desired set again, because sets carry the new epoch."""
        ready = [worker.id for worker in self.cluster.workers.values() if worker.liveness == "ready"]
        for worker in ready:
            self.silence.watch(worker)
        self.dispatch.send(ready, self.process.agenda.now_ms)
        self._wake()

    def end(self) -> None:
        self.is_over = True
        self.dispatch.close()

    def push(self, event: Event) -> None:
        """Have `event` applied in the next cycle, which starts as soon as the current one has ended."""
        self._events.append(event)
        self._wake()

    def apply_request(self, request: TrialRequest, policy: ExperimentPolicy) -> None:
        """Apply a request that a handler has stored."""

        def apply(cluster: Cluster, now: datetime) -> None:
            if request.experiment not in cluster.policies:
                cluster.put_experiment_policy(request.experiment, policy)
            before = self.process.records.trials.get(request.trial)
            if before is not None and before.is_closed and request.trial not in cluster.trials:
                # the trial of an earlier request that has left memory
                cluster.put_trial(before, lazily=True)
            self.process.records.last_submission_order += 1
            cluster.apply(
                requests.on_request(cluster, request, self.process.records.last_submission_order, now)
            )

        self.push(apply)

    def welcome(self, worker: WorkerId, pool: PoolName) -> None:
        """Add a worker that has received credentials."""
        self.push(lambda cluster, _: cluster.apply(on_joined(cluster, worker, pool)))

    def drain(self, worker: WorkerId, reclaim: bool, undo: bool) -> None:
        """Drain a worker, or undo its drain."""

        def apply(cluster: Cluster, _: datetime) -> None:
            cluster.apply(draining.on_drain(cluster, worker, reclaim=reclaim, undo=undo))

        self.push(apply)

    def on_observed_set(self, sighting: ObservedSet) -> None:
        """Apply an observed set of a joined worker unless a newer one was applied before."""
        state = sighting.state
        if state.worker not in self.process.records.workers or not self._is_next(sighting):
            return
        self.silence.on_heartbeat(state.worker, self.process.agenda.monotonic_s)
        if sighting.answers is not None:
            self.dispatch.answered(state.worker, sighting.answers, self.process.agenda.now_ms)

        def apply(cluster: Cluster, now: datetime) -> None:
            cluster.apply(on_heartbeat(cluster, state, now))
            if self.tempo.beat_ms is not None:
                self.dispatch.compare(state.worker, state.allocations, self.process.agenda.now_ms)

        self.push(apply)

    def give_up_silent(self) -> None:
        """Declare workers lost whose lease has expired while the leader receives its own echo."""
        for worker in self.silence.take_silent(self.process.agenda.monotonic_s):
            self.give_up(worker)

    def give_up(self, worker: WorkerId) -> None:
        self.push(_silence(worker, f"worker {worker} sent no heartbeat for {LEASE_S:g} s"))

    def reconcile(self) -> None:
        """Load what a handler of an earlier leader stored after this term had begun."""
        records, cluster = self.process.records, self.cluster
        if not records.is_up:
            return
        for request in records.late_requests(self.process.agenda.now_ms - 60_000):
            known = cluster.trials.get(request.trial)
            if known is None or known.request.version < request.version:
                self.apply_request(request, records.policies[request.experiment])
        awaited = {a.run for t in cluster.awaiting if (a := cluster.trials[t].awaited) is not None}
        for run in awaited:
            missing = (
                records.settled.get(run, 0) - cluster.runs[run].progress.settled if run in cluster.runs else 0
            )
            if missing > 0:
                self.push(_settled(run, missing))

    def run_once(self) -> None:
        """Run one scheduling cycle."""
        # 1. Stop if the lease may be lost.
        if not self.process.holds_lease():
            self.process.end_term()
            return
        # 2. Apply events, plan, and apply the plan.
        events, self._events = self._events, []
        result = run_cycle(self.cluster, events, self._next_token, self.process.agenda.now)
        self.process.watch.on_cycle(self.cluster, result.plan)
        self._demands |= result.plan.demand
        # 3. Save and publish in one transaction that commits only under our epoch.
        changes = result.unsaved
        if changes.facts or changes.trials or changes.runs or changes.workers:
            self._is_busy = True
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
            # Memory is ahead of the tables: a new term must load them.
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
        self._is_busy = False
        if self._events:
            self._wake()

    def _send(self, changes: Unsaved) -> None:
        for pool, demand in self._demands.items():
            if self._published.get(pool) != demand:
                self._published[pool] = demand
                self._versions += 1
                self.process.publish_demand((self.epoch << 24) + self._versions, demand)
        self._demands.clear()
        # Sorted, because the order of a set differs between processes.
        self.dispatch.send(sorted(changes.desired), self.process.agenda.now_ms)

    def _wake(self) -> None:
        if not self._is_busy and not self.is_over:
            self._is_busy = True
            self.process.later(self.tempo.cycle_delay_ms, self._run_cycle)

    def _run_cycle(self) -> None:
        if not self.is_over:
            self._is_busy = False
            self.run_once()

    def _next_token(self) -> int:
        self._last_token += 1
        return self._last_token

    def _is_next(self, sighting: ObservedSet) -> bool:
        number = (sighting.incarnation, sighting.sequence)
        if number <= self._seen.get(sighting.state.worker, (0, 0)):
            return False
        self._seen[sighting.state.worker] = number
        return True


def _silence(worker: WorkerId, reason: str) -> Event:
    def apply(cluster: Cluster, now: datetime) -> None:
        if worker in cluster.workers:
            cluster.apply(on_worker_lost(cluster, worker, reason, now))

    return apply


def _settled(run: RunId, count: int) -> Event:
    return lambda cluster, now: cluster.apply(requests.on_settled(cluster, run, now, count))
