"""Changes that would let a waiting trial start. Each answer was planned with one change that a user can make."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from services.scheduler.core.explaining.what_if import (
    AnyMachine,
    Change,
    DifferentMaximum,
    DifferentPolicy,
    FewerSlots,
    outcome_of,
)
from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ask_of
from services.scheduler.core.state.records.pool import FIRST_PRIORITY
from services.scheduler.core.state.records.trial import RequestState, Trial
from shared.ids import PoolName, TrialId

MOST_POOLS = 8
MOST_MOVED = 1_000
"""Experiments with more open trials are not moved on trial, because it would take too long."""

Start = Literal["now", "soon"]
Kind = Literal["slots", "labels", "priority", "pool", "max_slots", "workspace_maximum", "tenant_maximum"]


@dataclass(frozen=True, slots=True)
class StartAlternative:
    """`change` would let the trial start. `number` is the new value; for a change of pool, `pool` is its name."""

    kind: Kind
    change: Change
    start: Start
    number: int | None = None
    pool: PoolName | None = None


Steps = Generator[StartAlternative | None, None, None]
"""One plan per step; None if it finds nothing. Between two steps the state is unmodified and may advance."""


def alternatives(cluster: Cluster, name: TrialId, reason: WaitReason) -> Steps:
    """Search for the smallest change of each kind with which the trial would start now, or once others have
    released their slots.

    Args:
        reason: The reason for waiting. Changes that cannot help are not tried.
    """
    if reason in ("uploads", "back_off", "preempting"):
        return
    for search in _SEARCHES:
        trial = cluster.trials.get(name)
        if trial is None or trial.state is not RequestState.QUEUED:
            return
        yield from search(cluster, trial, reason)


def _fewer_slots(cluster: Cluster, trial: Trial, reason: WaitReason) -> Steps:
    """Find the most slots, fewer than requested, that it would get at the end of the queue."""
    pool, needs = cluster.pools[cluster.pool_of(trial)], trial.request.needs
    free = pool.capacity.free_for(ask_of(trial.request.tenant, needs))
    works, fails = 0, min(needs.min_slots, free + 1)
    while fails - works > 1:
        slots = (works + fails) // 2
        if (yield from _tried(cluster, trial, FewerSlots(slots))) == "now":
            works = slots
        else:
            fails = slots
    if works:
        yield StartAlternative("slots", FewerSlots(works), "now", works)


def _any_machine(cluster: Cluster, trial: Trial, reason: WaitReason) -> Steps:
    """Find whether it would get a machine at the end of the queue without constraints."""
    if trial.request.needs.where is None or reason not in ("slots", "beyond_pool"):
        return
    if (yield from _tried(cluster, trial, AnyMachine())) == "now":
        yield StartAlternative("labels", AnyMachine(), "now")


def _priority(cluster: Cluster, trial: Trial, reason: WaitReason) -> Steps:
    """Find the least important priority, above its own, that suffices."""
    policy = cluster.policy_of(trial)
    if reason != "slots" or cluster.pools[cluster.pool_of(trial)].policy.order == "fifo":
        return
    works, fails = FIRST_PRIORITY, policy.priority
    best: Start | None = None
    if fails > works:
        best = yield from _tried(cluster, trial, DifferentPolicy(replace(policy, priority=works)))
    while best and fails - works > 1:
        priority = (works + fails) // 2
        found = yield from _tried(cluster, trial, DifferentPolicy(replace(policy, priority=priority)))
        if found:
            works, best = priority, found
        else:
            fails = priority
    if best:
        yield StartAlternative("priority", DifferentPolicy(replace(policy, priority=works)), best, works)


def _pools(cluster: Cluster, trial: Trial, reason: WaitReason) -> Steps:
    """Find the other pools in which it would start if its experiment moved there."""
    here, needs = cluster.pool_of(trial), trial.request.needs
    if len(cluster.live[trial.request.experiment]) > MOST_MOVED:
        return
    others = [name for name in sorted(cluster.pools) if name != here]
    for name in others[:MOST_POOLS]:
        capacity = cluster.pools[name].capacity
        if needs.min_slots > capacity.free_for(ask_of(trial.request.tenant, needs)):
            continue
        change = DifferentPolicy(replace(cluster.policy_of(trial), pool=name))
        if (yield from _tried(cluster, trial, change)) == "now":
            yield StartAlternative("pool", change, "now", pool=name)


def _limits(cluster: Cluster, trial: Trial, reason: WaitReason) -> Steps:
    """Find whether raising the limit that blocks it just as far as needed suffices."""
    pool, slots = cluster.pools[cluster.pool_of(trial)], trial.request.needs.least
    leaf = pool.shares.leaves.get(trial.request.experiment)
    if leaf is None:
        return
    change: Change
    match reason:
        case "max_slots":
            kind: Kind = "max_slots"
            number = ceil(leaf.held + slots)
            change = DifferentPolicy(replace(cluster.policy_of(trial), max_slots=number))
        case "workspace_quota" | "tenant_quota":
            kind = "workspace_maximum" if reason == "workspace_quota" else "tenant_maximum"
            node = leaf.workspace if reason == "workspace_quota" else leaf.tenant
            number = ceil(node.held + slots)
            change = DifferentMaximum(node.path, number)
        case _:
            return
    found = yield from _tried(cluster, trial, change)
    if found:
        yield StartAlternative(kind, change, found, number)


def _tried(cluster: Cluster, trial: Trial, change: Change) -> Generator[None, None, Start | None]:
    if cluster.trials.get(trial.id) is not trial:
        return None
    outcome = outcome_of(cluster, trial.id, change)
    yield None
    return None if outcome == "waits" else outcome


_SEARCHES = (_limits, _fewer_slots, _any_machine, _priority, _pools)
