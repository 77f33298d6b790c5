"""Replays jobs through the scheduler's own cycles on virtual time. Machines never fail and messages take no
time, so that only the policy matters. A job saves at the end of each epoch, and when it is asked for its slots.
`simulation` covers failures, `training` the progress of jobs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from math import ceil
from uuid import UUID

from services.scheduler.core.reducers import requests, run_completion
from services.scheduler.core.reducers.elastic_reports import on_reported
from services.scheduler.core.reducers.workers import on_heartbeat
from services.scheduler.core.scheduling import Event, run_cycle
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.goodput import BatchSplit, split_batch
from services.scheduler.core.state.indexes.elastic.history import ReportHistory
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.observed import ObservedState
from services.scheduler.core.state.published_events import Closed, Granted
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.trial import SlotNeeds, TrialRequest
from shared.ids import ExperimentId, RunId, TenantId, TrialId, WorkerId
from shared.messages.trial_specs import DesiredState, Signal
from simulator.event_queue import EventQueue
from simulator.trials import Spread, TrainingPace
from simulator.workloads.published import RESTART_MS, Job
from simulator.workloads.training import limits_of, measured, pace

STEP_MS = 10_000
"""The scheduler runs a cycle at least this often."""
TENANT = TenantId(UUID(int=1))


@dataclass(slots=True)
class ReplayOutcome:
    """The result of a job. `service_ms`: slot-milliseconds held; `starts`: number of starts."""

    job: Job
    started_ms: int | None = None
    ended_ms: int | None = None
    service_ms: int = 0
    starts: int = 0

    @property
    def completion_ms(self) -> int:
        """From arrival to the end; only for a job that has ended."""
        assert self.ended_ms is not None
        return self.ended_ms - self.job.arrives_ms


@dataclass(slots=True)
class _Attempt:
    """A run's training. `plan` numbers its scheduled callbacks; older ones are ignored."""

    run: Run
    spread: Spread
    batch: BatchSplit
    held_since_ms: int
    since_ms: int
    pace: TrainingPace | None = None
    plan: int = 0


@dataclass(slots=True)
class _Trial:
    """`history`: the measurements of an elastic trial."""

    id: TrialId
    outcome: ReplayOutcome
    history: ReportHistory | None = None
    progress: float = 0.0
    attempt: _Attempt | None = None

    @property
    def job(self) -> Job:
        return self.outcome.job


@dataclass(frozen=True, slots=True)
class Setting:
    """The cluster and its users' requests.

    Attributes:
        needs: The resources that a job requests.
        priority: The priority of a job.
        restart_ms: From a grant to the first step: loading, restoring, joining.
    """

    policy: PoolPolicy
    machines: int
    slots_per_machine: int
    needs: Callable[[Job], SlotNeeds]
    priority: Callable[[Job], int] = field(default=lambda job: 42)
    restart_ms: int = RESTART_MS


class WorkloadReplay:
    """One workload under one setting; `run` returns the result of each job, in order of arrival."""

    def __init__(self, setting: Setting, jobs: Sequence[Job]) -> None:
        self._setting = setting
        self._agenda = EventQueue()
        self._cluster = Cluster()
        self._tokens = count(1)
        self._events: list[Event] = []
        self._is_due = False
        self._trials = {
            TrialId(UUID(int=number + 1)): _Trial(TrialId(UUID(int=number + 1)), ReplayOutcome(job))
            for number, job in enumerate(jobs)
        }
        self._open = len(self._trials)

    def run(self) -> list[ReplayOutcome]:
        self._build()
        for trial in self._trials.values():
            self._agenda.at(trial.job.arrives_ms, lambda trial=trial: self._arrive(trial))  # type: ignore[misc]
        self._agenda.after(STEP_MS, self._step)
        while self._open and self._agenda.step():
            pass
        return [trial.outcome for trial in self._trials.values()]

    def _build(self) -> None:
        self._cluster.put_pool(self._setting.policy)
        slots = tuple(range(self._setting.slots_per_machine))
        for number in range(self._setting.machines):
            state = ObservedState(WorkerId(f"m{number:04}"), self._setting.policy.name, None, slots)
            self._cluster.apply(on_heartbeat(self._cluster, state, self._agenda.now))

    def _arrive(self, trial: _Trial) -> None:
        """Submit a job as an experiment of its own user."""
        needs = self._setting.needs(trial.job)
        if needs.is_elastic:
            trial.history = ReportHistory(limits_of(trial.job.profile))
        request = TrialRequest(
            trial=trial.id,
            tenant=TENANT,
            experiment=ExperimentId(trial.id),
            version=1,
            request=1,
            desired_state=DesiredState.RUN,
            decide_at=None,
            needs=needs,
            pool=self._setting.policy.name,
            max_restarts=5,
            workspace="research",
            owner=trial.job.name,
        )
        policy = ExperimentPolicy(self._setting.priority(trial.job))
        self._happened(
            lambda cluster, _: cluster.apply(
                requests.on_experiment_policy(cluster, ExperimentId(trial.id), policy)
            )
        )
        self._happened(
            lambda cluster, now: cluster.apply(requests.on_request(cluster, request, trial.id.int, now))
        )

    def _happened(self, event: Event) -> None:
        """Events at the same time share one cycle."""
        self._events.append(event)
        if not self._is_due:
            self._is_due = True
            self._agenda.after(0, self._run_cycle)

    def _step(self) -> None:
        self._happened(lambda _cluster, _now: None)
        self._agenda.after(STEP_MS, self._step)

    def _run_cycle(self) -> None:
        self._is_due = False
        events, self._events = self._events, []
        result = run_cycle(self._cluster, events, lambda: next(self._tokens), self._agenda.now)
        for fact in result.unsaved.facts:
            if isinstance(fact, Granted):
                self._start(self._trials[fact.trial.id], fact.run)
            elif isinstance(fact, Closed):
                self._close(self._trials[fact.trial.id], fact)
        for signal in result.plan.signals:
            self._stop(self._trials[self._cluster.runs[signal.run].trial])
        for resize in result.plan.resizes:
            self._stop(self._trials[self._cluster.runs[resize.run].trial])

    def _start(self, trial: _Trial, run: Run) -> None:
        now = self._agenda.now_ms
        spread = tuple(share.slots for share in run.shares)
        batch = split_batch(trial.job.batch, sum(spread), limits_of(trial.job.profile))
        trial.attempt = _Attempt(run, spread, batch, now, now)
        trial.outcome.starts += 1
        if trial.outcome.started_ms is None:
            trial.outcome.started_ms = now
        self._plan(trial, self._setting.restart_ms, self._train)

    def _train(self, trial: _Trial) -> None:
        """Train from the first step of an attempt, or of an epoch, to the end of the epoch."""
        attempt = trial.attempt
        assert attempt is not None
        if trial.history is not None:
            for _ in range(2):
                self._adapt(trial, attempt, trial.history)
        attempt.since_ms = self._agenda.now_ms
        attempt.pace = pace(trial.job.profile, attempt.spread, attempt.batch, trial.progress)
        left_ms = ceil((attempt.pace.until - trial.progress) / attempt.pace.per_ms)
        self._plan(trial, left_ms, self._mark)

    def _adapt(self, trial: _Trial, attempt: _Attempt, history: ReportHistory) -> None:
        """Choose the batch that the elastic run's own reports suggest, and report the new measurement."""
        spread, limits = attempt.spread, history.limits
        attempt.batch = history.batch(len(spread), sum(spread))
        timing, noise = measured(trial.job.profile, spread, attempt.batch, trial.progress)
        history.add(timing, noise)
        self._happened(
            lambda cluster, _: cluster.apply(on_reported(cluster, trial.id, limits, timing, noise))
        )

    def _mark(self, trial: _Trial) -> None:
        attempt = trial.attempt
        assert attempt is not None
        assert attempt.pace is not None
        trial.progress = attempt.pace.until
        self._happened(lambda cluster, now: _saved(cluster, attempt.run.id, now))
        if trial.progress < trial.job.profile.marks[-1]:
            self._train(trial)
        else:
            self._end(trial, RunExit())

    def _stop(self, trial: _Trial) -> None:
        """Save and release the slots; the time for that is part of the pause before the next first step."""
        attempt = trial.attempt
        if attempt is None:
            return
        if attempt.pace is not None:
            trained_ms = self._agenda.now_ms - attempt.since_ms
            trial.progress = min(trial.progress + attempt.pace.per_ms * trained_ms, attempt.pace.until)
        self._end(trial, RunExit(acknowledged=Signal.PREEMPT))

    def _end(self, trial: _Trial, exited: RunExit) -> None:
        attempt, trial.attempt = trial.attempt, None
        assert attempt is not None
        held_ms = self._agenda.now_ms - attempt.held_since_ms
        trial.outcome.service_ms += sum(attempt.spread) * held_ms
        self._happened(lambda cluster, now: _exit(cluster, attempt.run.id, exited, now))

    def _close(self, trial: _Trial, closed: Closed) -> None:
        assert closed.outcome == "completed", closed.reason
        trial.outcome.ended_ms = self._agenda.now_ms
        self._open -= 1

    def _plan(self, trial: _Trial, delay_ms: int, act: Callable[[_Trial], None]) -> None:
        attempt = trial.attempt
        assert attempt is not None
        attempt.plan += 1
        plan = attempt.plan

        def act_unless_replaced() -> None:
            if trial.attempt is attempt and attempt.plan == plan:
                act(trial)

        self._agenda.after(delay_ms, act_unless_replaced)


def _saved(cluster: Cluster, run_id: RunId, now: datetime) -> None:
    run = cluster.runs.get(run_id)
    if run is not None and not run.is_ended:
        cluster.follow(run.with_progress(checkpoints=run.progress.checkpoints + 1, saved_at=now))


def _exit(cluster: Cluster, run_id: RunId, exited: RunExit, now: datetime) -> None:
    for share in cluster.runs[run_id].shares:
        cluster.apply(run_completion.on_exit(cluster, cluster.runs[run_id], share.worker, exited, now))
