"""What-if: the outcome of a plan with one change. The change is applied to the state, planned, and reverted."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from services.scheduler.core.planning.plan import plan
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.pool import NO_QUOTA, Path
from services.scheduler.core.state.records.trial import SlotNeeds, Trial
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import PoolName, TrialId
from shared.tuples import changed

LAST = 1 << 61
"""A submission order behind all waiting requests."""

Outcome = Literal["now", "soon", "waits"]
"""`now`: granted. `soon`: granted once slots of preempted runs are released. `waits`: neither."""


@dataclass(frozen=True, slots=True)
class FewerSlots:
    """The request is replaced by one for `slots` slots at the end of the queue."""

    slots: int


@dataclass(frozen=True, slots=True)
class DifferentPolicy:
    """Its experiment has another priority, limit or pool."""

    policy: ExperimentPolicy


@dataclass(frozen=True, slots=True)
class DifferentMaximum:
    """Its tenant or workspace has another maximum in the pool."""

    path: Path
    maximum: int


@dataclass(frozen=True, slots=True)
class AnyMachine:
    """The request is replaced by one without machine constraints at the end of the queue."""


Change = FewerSlots | AnyMachine | DifferentPolicy | DifferentMaximum


def outcome_of(cluster: Cluster, name: TrialId, change: Change) -> Outcome:
    """Return the outcome of the next plan for a waiting trial with the change. The cluster is left unchanged."""
    unsaved, cluster.unsaved = cluster.unsaved, Unsaved()
    try:
        with _changed(cluster, cluster.trials[name], change):
            planned = plan(cluster, [cluster.pool_of(cluster.trials[name])])
    finally:
        cluster.unsaved = unsaved
    if any(grant.trial == name for grant in planned.grants):
        return "now"
    return "soon" if planned.refusals.get(name) == "preempting" else "waits"


def _changed(cluster: Cluster, trial: Trial, change: Change) -> AbstractContextManager[None]:
    match change:
        case FewerSlots(slots):
            most = trial.request.needs.max_slots if trial.request.needs.is_elastic else slots
            return _with_needs(cluster, trial, trial.request.needs._replace(min_slots=slots, max_slots=most))
        case AnyMachine():
            return _with_needs(cluster, trial, trial.request.needs._replace(where=None))
        case DifferentPolicy(policy):
            return _with_policy(cluster, trial, policy)
        case DifferentMaximum(path, maximum):
            return _with_maximum(cluster, cluster.pool_of(trial), path, maximum)


@contextmanager
def _with_needs(cluster: Cluster, trial: Trial, needs: SlotNeeds) -> Iterator[None]:
    queue = cluster.pools[cluster.pool_of(trial)].queue
    shapes = len(queue.shapes)
    submitted_at = datetime.fromtimestamp(cluster.now_ms / 1000, tz=UTC)
    request = replace(trial.request, needs=needs)
    cluster.put_trial(changed(trial, request=request, submission_order=LAST, submitted_at=submitted_at))
    try:
        yield
    finally:
        cluster.put_trial(trial)
        queue.forget_shapes(shapes)


@contextmanager
def _with_policy(cluster: Cluster, trial: Trial, policy: ExperimentPolicy) -> Iterator[None]:
    experiment, pool = trial.request.experiment, cluster.pools[policy.pool or cluster.pool_of(trial)]
    before, shapes = cluster.policies.get(experiment), len(pool.queue.shapes)
    default = cluster.policy_of(trial)
    cluster.put_experiment_policy(experiment, policy)
    try:
        yield
    finally:
        cluster.put_experiment_policy(experiment, before or default)
        if before is None:
            del cluster.policies[experiment]
        pool.queue.forget_shapes(shapes)


@contextmanager
def _with_maximum(cluster: Cluster, pool: PoolName, path: Path, maximum: int) -> Iterator[None]:
    before = cluster.pools[pool].shares.quotas.get(path)
    cluster.put_quota(pool, path, replace(before or NO_QUOTA, maximum=maximum))
    try:
        yield
    finally:
        cluster.put_quota(pool, path, before)
