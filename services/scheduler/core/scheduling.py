"""One scheduling cycle, shared by the service and the simulator: apply events, run the ticks, plan, carry out
the plan, return unsaved changes.

    result = run_cycle(cluster, events, next_token, now)
    result.plan     the decisions, already applied to the cluster
    result.unsaved  what to save, publish and send; the cluster then starts a new collection

The caller saves, publishes and sends. If it decides not to save a cycle's changes, it returns them with `defer_save`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from services.scheduler.core.planning.plan import SchedulingPlan, plan
from services.scheduler.core.reducers import gang_forming, grants, requests, run_completion
from services.scheduler.core.reducers.grants import NewRun
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.decay import STEP_MS
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import AllocationId, RunId, derived_id

Event = Callable[[Cluster, datetime], None]
"""Applies something that has happened to the cluster. Must not fail for external reasons."""


@dataclass(frozen=True, slots=True)
class CycleResult:
    """The decisions and changes of one scheduling cycle."""

    plan: SchedulingPlan
    unsaved: Unsaved


def run_cycle(
    cluster: Cluster, events: Iterable[Event], next_token: Callable[[], int], now: datetime
) -> CycleResult:
    """Apply the events in order, plan the pools that changed, and apply the plan to the cluster.

    Args:
        next_token: Returns the token of the next run; tokens must increase.
    """
    cluster.advance_to(now)
    for event in events:
        event(cluster, now)
    for on_tick in (requests.on_tick, run_completion.on_tick, gang_forming.on_tick):
        cluster.apply(on_tick(cluster, now))
    planned = plan(cluster, cluster.unsaved.pools, is_carried_out=True)
    _carry_out(cluster, planned, next_token, now)
    unsaved = cluster.take_unsaved()
    for worker in unsaved.holders:
        cluster.ledger.follow(cluster.workers[worker], now)
    unsaved.usage_entries = cluster.ledger.take_changes()
    return CycleResult(planned, unsaved)


def defer_save(cluster: Cluster, unsaved: Unsaved) -> None:
    """Return changes that do not justify a transaction; they are saved with the next changes that do."""
    cluster.unsaved.lazy_trials |= unsaved.lazy_trials
    cluster.unsaved.lazy_runs |= unsaved.lazy_runs


def _carry_out(
    cluster: Cluster, planned: SchedulingPlan, next_token: Callable[[], int], now: datetime
) -> None:
    """Create the granted runs, occupy their slots and send the signals. The plan already accounts for these
    changes."""
    for grant in planned.grants:
        number = cluster.trials[grant.trial].runs + 1
        run = RunId(derived_id(grant.trial, "run", number))
        new = NewRun(run, AllocationId(derived_id(run, "allocation")), next_token())
        cluster.apply(grants.on_granted(cluster, grant.trial, grant.placement, new, now))
    for signal in planned.signals:
        cluster.apply(
            grants.on_preempted(cluster, signal.run, PreemptionNotice(signal.because, signal.for_trial))
        )
    for one in planned.resizes:
        cluster.apply(gang_forming.on_resized(cluster, one.run, one.slots, one.placement, now))
    for name in planned.demand:
        cluster.pools[name].elastic.assigned_step = cluster.now_ms // STEP_MS
        if name not in planned.more_expired:
            cluster.pools[name].time_slice_step = cluster.now_ms // STEP_MS
    for name, reserved in planned.reserved.items():
        cluster.pools[name].reserved = reserved
        cluster.pools[name].shares.settle()
    cluster.unsaved.pools.clear()
