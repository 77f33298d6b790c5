"""Refreshes a pool's indexes from the records of its machines: what is free, what will be free, which runs
could be preempted."""

from collections.abc import Iterable
from operator import attrgetter

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.guaranteed_slots import own_slots
from services.scheduler.core.state.indexes.placement.worker_capacity import (
    WorkerCapacity,
    after_release,
    spot_of,
)
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation, running_allocation_of
from services.scheduler.core.state.indexes.runs_by_worker import Touched
from services.scheduler.core.state.records.worker import Worker
from shared.ids import RunId


def refresh(cluster: Cluster) -> None:
    """Refresh the indexes of all machines that changed. Callers that read free slots (plans, explanations,
    queries) call this first. Between cycles nothing else reads them, so repeated changes are processed once."""
    for name, runs in cluster.machines.take_touched().items():
        worker = cluster.workers.get(name)
        if worker is not None and worker.pool in cluster.pools:
            refresh_machine(cluster, cluster.pools[worker.pool], worker, runs)


def refresh_machine(cluster: Cluster, pool: Pool, worker: Worker, touched: Touched | None) -> None:
    """Refresh the pool's indexes for one machine on which these runs have changed; None: any may have."""
    spot = spot_of(worker, pool.policy)
    pool.capacity.update(worker.id, worker.labels, spot)
    if pool.later is None:
        return
    kept, looked_at = _sorted_out(cluster, pool, worker, touched)
    soon, fresh = _look(cluster, pool, worker, spot, looked_at)
    pool.later.update(worker.id, worker.labels, soon)
    allocations = sorted((*kept, *fresh), key=_BY_TOKEN) if soon else ()
    pool.running_allocations.set(worker.id, worker.labels, soon.owner if soon else None, tuple(allocations))


_BY_TOKEN = attrgetter("token")


def _sorted_out(
    cluster: Cluster, pool: Pool, worker: Worker, touched: Touched | None
) -> tuple[list[RunningAllocation], Iterable[RunId]]:
    """Return the unchanged entries of a machine and the runs to examine. If others are leaving or hold extra
    slots, all runs are examined."""
    here = cluster.runs_on.get(worker.id, {})
    if touched is None or pool.policy.elastic:
        return [], here
    kept = [one for one in pool.running_allocations.on(worker.id) if one.token not in touched]
    fresh = [run for run in touched.values() if run in here]
    return (kept, fresh) if len(kept) + len(fresh) == len(here) else ([], here)


def _look(
    cluster: Cluster, pool: Pool, worker: Worker, spot: WorkerCapacity | None, runs: Iterable[RunId]
) -> tuple[WorkerCapacity | None, list[RunningAllocation]]:
    """Return the capacity once all leaving runs and extra slots are released, and the entries of the other runs."""
    allocations: list[RunningAllocation] = []
    for run_id in runs:
        run, charge = cluster.runs[run_id], pool.charges.get(run_id)
        hold = worker.held.get(run.allocation)
        if spot is None or charge is None or hold is None:
            continue
        if charge.is_leaving:
            spot = after_release(spot, hold.slot_ids, hold.fraction)
            continue
        trial = cluster.trials[run.trial]
        if pool.policy.elastic and trial.request.needs.is_elastic:
            extra = len(hold.slot_ids) - own_slots(run, trial)[worker.id]
            spot = spot._replace(free=spot.free + extra)
        freed = worker.freed_by(hold)
        restart_ms = cluster.pause_durations.get(run.experiment, "restart")
        allocations.append(
            running_allocation_of(pool.policy, trial, run, charge.leaf, charge.slots, freed, restart_ms)
        )
    return spot, allocations
