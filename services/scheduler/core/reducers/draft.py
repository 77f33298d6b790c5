"""Collects the changes of a reducer. Reads through it see the cluster with the changes so far; the cluster
itself is not modified."""

from collections.abc import Iterable
from datetime import datetime

from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.records import Report
from services.scheduler.core.state.indexes.pause_durations import Kind
from services.scheduler.core.state.published_events import Fact
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import SlotHold, Worker
from shared.ids import AllocationId, ExperimentId, RunId, TrialId, WorkerId


class Draft(Changes):
    """See the module. `cluster` shows the state before the event."""

    __slots__ = ("cluster",)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster

    def run(self, run: RunId) -> Run:
        return self.runs.get(run) or self.followed.get(run) or self.cluster.runs[run]

    def trial(self, trial: TrialId) -> Trial:
        written = self.trials.get(trial) if self.trials else None
        return written or self.cluster.trials[trial]

    def runs_on(self, worker: WorkerId) -> list[Run]:
        """Return the runs with a share on a worker. A run that has ended and released the worker has none."""
        found = []
        for name in self.cluster.runs_on.get(worker, ()):
            run = self.run(name)
            if name not in self.runs or run.is_on(worker):
                found.append(run)
        return found

    def is_holding(self, worker: Worker) -> bool:
        """Whether anything occupies slots of a worker, or counts as occupying them."""
        if any(name == worker.id for name, _, _ in self.holds):
            return True
        freed = {held if not isinstance(held, Run) else held.allocation for _, held in self.releases}
        return any(allocation not in freed for allocation in worker.held)

    def put_worker(self, worker: Worker) -> None:
        self.workers[worker.id] = worker
        self.quiet_workers.pop(worker.id, None)

    def put_quiet_worker(self, worker: Worker) -> None:
        """Store a worker's record without a change that affects planning."""
        self.quiet_workers[worker.id] = worker

    def hold(self, worker: WorkerId, allocation: AllocationId, hold: SlotHold) -> None:
        """Occupy slots for an allocation that is not part of a run's new shares."""
        self.holds.append((worker, allocation, hold))

    def release(self, worker: WorkerId, held: Run | AllocationId) -> None:
        self.releases.append((worker, held))

    def put_run(self, run: Run, lazily: bool = False) -> None:
        name = run.id
        if lazily and name not in self.runs:
            self.lazy.add(name)
        elif not lazily and self.lazy:
            self.lazy.discard(name)
        self.runs[name] = run
        if self.followed:
            self.followed.pop(name, None)

    def follow(self, run: Run) -> None:
        """Store a run of which only the progress changed."""
        (self.runs if run.id in self.runs else self.followed)[run.id] = run

    def begin(self, run: Run, now: datetime) -> None:
        """Record that the run holds its shares from now on."""
        self.usage_starts.append((run, now))

    def put_trial(self, trial: Trial, lazily: bool = False) -> None:
        name = trial.request.trial
        if lazily and name not in self.trials:
            self.lazy.add(name)
        elif not lazily and self.lazy:
            self.lazy.discard(name)
        self.trials[name] = trial

    def learn_pause(self, experiment: ExperimentId, kind: Kind, took_ms: int) -> None:
        self.paused.append((experiment, kind, max(1, took_ms)))

    def learn_report(self, trial: TrialId, report: Report) -> None:
        self.reports.append((trial, report))

    def emit(self, fact: Fact) -> None:
        """Publish an event."""
        self.facts.append(fact)

    def want(self, workers: Iterable[WorkerId]) -> None:
        """Mark these workers' desired sets as changed."""
        for worker in workers:
            self.desired[worker] = None
