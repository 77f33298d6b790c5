"""The scheduler's simulated database: the lease, what handlers store, what a cycle saves, and the outbox.

It stores exactly what the tables store (`services/scheduler/store`). Everything else that a leader knew is lost
with its term.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from services.scheduler.core.reducers import draining, pause_measurements, requests
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.published_events import Fact
from services.scheduler.core.state.records.pool import Path, PoolPolicy, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import PauseTimes, Run, state_of
from services.scheduler.core.state.records.run_states import GangState
from services.scheduler.core.state.records.trial import AwaitedUploads, RequestState, Trial, TrialRequest
from services.scheduler.core.state.records.worker import Drain, Liveness, Worker
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import ExperimentId, PoolName, RunId, TrialId, WorkerId

LEASE_MS = 3000
BLOCK = 1_000_000


class NotLeader(Exception):
    """The lease has another epoch: nothing was written."""


@dataclass(slots=True)
class LeaseRow:
    """The current leader, by the database's clock."""

    holder: str = ""
    epoch: int = 0
    expires_ms: int = -1


@dataclass(slots=True)
class SchedulerDatabase:
    """The tables. `is_up`: whether the database answers."""

    is_up: bool = True
    lease: LeaseRow = field(default_factory=LeaseRow)
    pools: dict[PoolName, PoolPolicy] = field(default_factory=dict)
    quotas: dict[Path, Quota] = field(default_factory=dict)
    reservations: list[Reservation] = field(default_factory=list)
    policies: dict[ExperimentId, ExperimentPolicy] = field(default_factory=dict)
    wanted: dict[TrialId, TrialRequest] = field(default_factory=dict)
    wanted_at_ms: dict[TrialId, int] = field(default_factory=dict)
    trials: dict[TrialId, Trial] = field(default_factory=dict)
    runs: dict[RunId, Run] = field(default_factory=dict)
    settled: dict[RunId, int] = field(default_factory=dict)
    workers: dict[WorkerId, Worker] = field(default_factory=dict)
    removed: set[WorkerId] = field(default_factory=set)
    draining: dict[WorkerId, bool] = field(default_factory=dict)
    inbox: set[str] = field(default_factory=set)
    outbox: dict[int, Fact] = field(default_factory=dict)
    last_row: int = 0
    last_submission_order: int = 0
    blocks: int = 0

    def take_lease(self, holder: str, now_ms: int) -> int | None:
        """Return the new epoch, or None while another process holds the lease."""
        if not self.is_up or now_ms <= self.lease.expires_ms:
            return None
        self.lease = LeaseRow(holder, self.lease.epoch + 1, now_ms + LEASE_MS)
        return self.lease.epoch

    def renew_lease(self, holder: str, epoch: int, now_ms: int) -> bool:
        if not self.is_up or (self.lease.holder, self.lease.epoch) != (holder, epoch):
            return False
        self.lease.expires_ms = now_ms + LEASE_MS
        return True

    def next_block(self) -> int:
        """Reserve a block of tokens and return the first."""
        self.blocks += 1
        return self.blocks * BLOCK

    def is_first(self, message: str) -> bool:
        """Whether a message is handled for the first time (inbox)."""
        if message in self.inbox:
            return False
        self.inbox.add(message)
        return True

    def save_request(self, request: TrialRequest, now_ms: int) -> None:
        """Store a trial's newest request; repeated and older ones change nothing."""
        before = self.wanted.get(request.trial)
        if before is None or before.version < request.version:
            self.wanted[request.trial] = request
            self.wanted_at_ms[request.trial] = now_ms

    def settle(self, run: RunId) -> None:
        self.settled[run] = self.settled.get(run, 0) + 1

    def save(self, epoch: int, cluster: Cluster, changes: Unsaved) -> list[int]:
        """Save one cycle's changes under the leader's epoch; return the rows of its outbox.

        Raises:
            NotLeader: Another process holds the lease.
        """
        if self.lease.epoch != epoch:
            raise NotLeader
        for trial in (*changes.trials, *changes.lazy_trials):
            if trial in cluster.trials:
                self.trials[trial] = cluster.trials[trial]
        for run in (*changes.runs, *changes.lazy_runs):
            if run in cluster.runs:
                self.runs[run] = cluster.runs[run]
        for worker in changes.workers:
            if worker in cluster.workers:
                self.workers[worker] = _copied(cluster.workers[worker])
        rows = []
        for fact in changes.facts:
            self.last_row += 1
            self.outbox[self.last_row] = fact
            rows.append(self.last_row)
        return rows

    def take_outbox(self, rows: Iterable[int]) -> list[tuple[int, Fact]]:
        """Return rows to publish, without those published meanwhile."""
        return [(row, self.outbox.pop(row)) for row in rows if row in self.outbox]

    def late_requests(self, since_ms: int) -> list[TrialRequest]:
        return [self.wanted[trial] for trial, at in self.wanted_at_ms.items() if at >= since_ms]

    def load(self, now: datetime) -> Cluster:
        """Load the state at the start of a term, like `store/load`."""
        cluster = Cluster()
        cluster.advance_to(now)
        for policy in self.pools.values():
            cluster.put_pool(policy)
            for path, quota in self.quotas.items():
                cluster.put_quota(policy.name, path, quota)
        for reservation in self.reservations:
            cluster.apply(requests.on_reserved(cluster, reservation))
        for worker in sorted(self.workers.values(), key=lambda worker: worker.id):
            if worker.liveness is not Liveness.REMOVED:
                cluster.put_worker(_copied(worker))
        for experiment, experiment_policy in self.policies.items():
            cluster.put_experiment_policy(experiment, experiment_policy)
        trials = [trial for trial in self.trials.values() if self._is_needed(trial)]
        awaited = {t.awaited.run for t in trials if t.awaited is not None and self._is_awaited(t.awaited)}
        by_token = sorted(self.runs.values(), key=lambda run: run.token)
        for run in by_token:
            if not run.is_ended or run.id in awaited:
                cluster.put_run(self._loaded(run))
        for trial in sorted(trials, key=lambda trial: trial.submission_order):
            cluster.put_trial(trial)
        cluster.apply(
            pause_measurements.on_term(
                cluster,
                ((run.experiment, run.pause_times) for run in by_token if run.pause_times != PauseTimes()),
            )
        )
        cluster.unsaved = Unsaved(pools=dict.fromkeys(cluster.pools))
        self.last_submission_order = max(
            (trial.submission_order for trial in self.trials.values()), default=0
        )
        for request in self.wanted.values():
            before = self.trials.get(request.trial)
            if before is None or not before.is_closed or request.request > before.request.request:
                self.last_submission_order += 1
                cluster.apply(requests.on_request(cluster, request, self.last_submission_order, now))
        for name, reclaim in self.draining.items():
            if name in cluster.workers and cluster.workers[name].drain is Drain.OPEN:
                cluster.apply(draining.on_drain(cluster, name, reclaim=reclaim, undo=False))
        return cluster

    def _is_awaited(self, awaited: AwaitedUploads) -> bool:
        return self.settled.get(awaited.run, 0) < awaited.announced

    def _is_needed(self, trial: Trial) -> bool:
        if trial.state is not RequestState.CLOSED:
            return True
        if trial.awaited is not None and self._is_awaited(trial.awaited):
            return True
        return self.wanted[trial.id].request > trial.request.request

    def _loaded(self, run: Run) -> Run:
        """Reduce a run to what its row stores; the rest is relearned from its workers."""
        is_ended = run.is_ended
        gang = run.gang._replace(
            rendezvous=None,
            seen=frozenset() if run.gang.state is GangState.STARTING else run.workers,
            released=run.workers if is_ended else frozenset(worker for worker, _ in run.exits),
        )
        progress = run.progress._replace(checkpoints=0, settled=self.settled.get(run.id, 0))
        return run._replace(gang=gang, progress=progress, state=state_of(is_ended, run.exits, run.asked))


def _copied(worker: Worker) -> Worker:
    """A worker's row: without its allocations and its heartbeat."""
    return replace(worker, has_heartbeat=False, is_empty=True, held={})
