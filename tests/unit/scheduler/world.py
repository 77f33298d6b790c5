"""Builders for the scheduler's tests: a cluster in memory, told what happens in few words."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from services.scheduler.core.planning.plan import SchedulingPlan, plan
from services.scheduler.core.reducers import pause_measurements, requests, run_completion
from services.scheduler.core.reducers.workers import on_heartbeat, on_worker_lost
from services.scheduler.core.scheduling import run_cycle
from services.scheduler.core.state.bulk_load import loading
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.serialization import from_json, to_json
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.observed import Observed, ObservedState
from services.scheduler.core.state.records.pool import PoolPolicy, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.trial import SlotNeeds, Trial, TrialRequest
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import ExperimentId, PoolName, TenantId, TrialId, WorkerId
from shared.messages.trial_specs import DesiredState
from tests.support.policies import plain

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROOT = UUID(int=7)
POOL = PoolName("default")
Event = tuple[Any, ...]
"""What happens: its name, then what it is about."""


def trial_id(number: int) -> TrialId:
    return TrialId(UUID(int=1000 + number))


def tenant_id(number: int = 0) -> TenantId:
    return TenantId(UUID(int=1 + number))


def experiment_id(number: int = 0) -> ExperimentId:
    return ExperimentId(UUID(int=100 + number))


@dataclass
class World:
    """A cluster with a clock and a counter of tokens."""

    policy: PoolPolicy = field(default_factory=lambda: plain(POOL))
    now: datetime = NOW
    tokens: int = 0
    places: int = 0
    cluster: Cluster = field(default_factory=Cluster)
    unsaved: Unsaved = field(default_factory=Unsaved)

    def __post_init__(self) -> None:
        self.cluster.advance_to(self.now)
        self.cluster.put_pool(self.policy)

    def worker(self, name: str, slots: int = 1, **changes: object) -> None:
        said = ObservedState(
            WorkerId(name), POOL, "cpu", tuple(range(slots)), allocations=self.observed(name)
        )
        self.cluster.apply(on_heartbeat(self.cluster, replace(said, **changes), self.now))  # type: ignore[arg-type]
        refresh(self.cluster)

    def observed(self, name: str) -> tuple[Observed, ...]:
        runs = [
            run for run in self.cluster.runs.values() if WorkerId(name) in run.workers - run.gang.released
        ]
        return tuple(Observed(run.allocation, run.id, run.token) for run in runs)

    def want(
        self,
        number: int,
        slots: int = 1,
        wanted: DesiredState = DesiredState.RUN,
        version: int = 1,
        **more: object,
    ) -> None:
        tenant, experiment = more.pop("tenant", 0), more.pop("experiment", 0)
        single, fraction = bool(more.pop("single_node", False)), int(str(more.pop("fraction", 0)))
        where = more.pop("where", None)
        request = TrialRequest(
            trial=trial_id(number),
            tenant=tenant_id(int(str(tenant))),
            experiment=experiment_id(int(str(experiment))),
            version=version,
            request=1,
            desired_state=wanted,
            decide_at=None,
            needs=SlotNeeds(slots, slots, single_node=single, fraction=fraction, where=where),  # type: ignore[arg-type]
            pool=POOL,
            max_restarts=2,
        )
        self.places += 1
        self.cluster.apply(requests.on_request(self.cluster, replace(request, **more), self.places, self.now))  # type: ignore[arg-type]

    def set_policy(
        self, experiment: int, priority: int = 42, max_slots: int | None = None, **more: Any
    ) -> None:
        self.cluster.apply(
            requests.on_experiment_policy(
                self.cluster,
                experiment_id(experiment),
                ExperimentPolicy(priority, max_slots=max_slots, **more),
            )
        )

    def quota(self, tenant: int, guaranteed: int = 0, maximum: int | None = None, **more: Any) -> None:
        path = (tenant_id(tenant), *([more.pop("workspace")] if "workspace" in more else []))
        self.cluster.apply(requests.on_quota(self.cluster, POOL, path, Quota(guaranteed, maximum, **more)))

    def reserve(self, tenant: int, slots: int, begin_s: float, end_s: float, workspace: str = "") -> None:
        """From so many seconds from now, to so many."""
        holder = (tenant_id(tenant), *([workspace] if workspace else []))
        begin_ms, end_ms = (self.cluster.now_ms + round(1000 * at) for at in (begin_s, end_s))
        self.places += 1
        one = Reservation(UUID(int=9000 + self.places), POOL, holder, slots, begin_ms, end_ms)
        self.cluster.apply(requests.on_reserved(self.cluster, one))

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.cluster.advance_to(self.now)

    def save(self, number: int) -> None:
        """The trial's run has saved a checkpoint, as its worker says."""
        run = self.run(number)
        self.cluster.follow(run.with_progress(checkpoints=run.progress.checkpoints + 1, saved_at=self.now))

    def rebuilt(self) -> Cluster:
        """A cluster that learns the same records, and nothing else; past use and the reservation are records too."""
        old, new = self.cluster, Cluster()
        new.advance_to(self.now)
        pool = old.pools[POOL]
        new.put_pool(pool.policy)
        if pool.shares.history:
            new.pools[POOL].shares.keep(pool.shares.history.without_current_usage(old.now_ms))
        for path, quota in pool.shares.quotas.items():
            new.put_quota(POOL, path, quota)
        for one in pool.reservations.values():
            new.apply(requests.on_reserved(new, one))
        for experiment, policy in old.policies.items():
            new.put_experiment_policy(experiment, policy)
        with loading(new):
            for trial in sorted(old.trials.values(), key=lambda trial: trial.submission_order):
                new.put_trial(trial)
                if trial.id in pool.elastic.of:
                    new.pools[POOL].elastic.of[trial.id] = from_json(to_json(pool.elastic.of[trial.id]))
            for run in sorted(old.runs.values(), key=lambda run: run.token):
                new.put_run(run)
        for _, worker in sorted(old.workers.items()):
            new.put_worker(replace(worker, held=dict(worker.held)))
        by_token = sorted(old.runs.values(), key=lambda run: run.token)
        new.apply(pause_measurements.on_term(new, ((run.experiment, run.pause_times) for run in by_token)))
        new.pools[POOL].reserved = pool.reserved
        new.pools[POOL].time_slice_step = pool.time_slice_step
        return new

    def plan(self) -> SchedulingPlan:
        return plan(self.cluster, list(self.cluster.pools))

    def cycle(self) -> list[Run]:
        """One cycle, as the service runs it; the runs it made. `unsaved` is what it changed."""
        before = self.tokens
        result = run_cycle(self.cluster, (), self.next_token, self.now)
        self.unsaved = result.unsaved
        return [
            self.cluster.runs[run] for run in result.unsaved.runs if self.cluster.runs[run].token > before
        ]

    def next_token(self) -> int:
        self.tokens += 1
        return self.tokens

    def exit(self, number: int, how: RunExit | None = None, workers: tuple[str, ...] | None = None) -> None:
        run = self.run(number)
        for worker in workers or [share.worker for share in run.shares]:
            self.cluster.apply(
                run_completion.on_exit(
                    self.cluster, self.cluster.runs[run.id], WorkerId(worker), how or RunExit(), self.now
                )
            )

    def silence(self, name: str) -> None:
        self.cluster.apply(on_worker_lost(self.cluster, WorkerId(name), "no heartbeat for 4 s", self.now))

    def run(self, number: int) -> Run:
        found = self.trial(number).run
        assert found is not None
        return self.cluster.runs[found]

    def trial(self, number: int) -> Trial:
        return self.cluster.trials[trial_id(number)]

    def running(self) -> set[int]:
        return {
            trial.int - 1000 for trial, record in self.cluster.trials.items() if record.state == "running"
        }

    def placement(self, number: int) -> dict[str, int]:
        return {str(share.worker): share.slots for share in self.run(number).shares}
