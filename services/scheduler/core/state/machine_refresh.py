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
from services.scheduler.core.state.indexes.workers_by_machine import owner_of
from services.scheduler.core.state.records.worker import Worker
from shared.ids import RunId, TenantId, WorkerId


def refresh(cluster: Cluster) -> None:
    """Refresh the indexes of all machines that changed. Callers that read free slots (plans, explanations,
    queries) call this first. Between cycles nothing else reads them, so repeated changes are processed once."""
    touched = dict(cluster.machines.take_touched())
    for name in list(touched):
        for other in cluster.workers_by_machine.others(name):
            touched.setdefault(other, {})
    for name, runs in touched.items():
        worker = cluster.workers.get(name)
        if worker is not None and worker.pool in cluster.pools:
            refresh_machine(cluster, cluster.pools[worker.pool], worker, runs)


def refresh_machine(cluster: Cluster, pool: Pool, worker: Worker, touched: Touched | None) -> None:
    """Refresh the pool's indexes for one machine on which these runs have changed; None: any may have."""
    spot = _with_machine(cluster, pool, worker, spot_of(worker, pool.policy))
    pool.capacity.update(worker.id, worker.labels, spot)
    if pool.later is None:
        return
    kept, looked_at = _sorted_out(cluster, pool, worker, touched)
    soon, fresh = _look(cluster, pool, worker, spot, looked_at)
    if soon is not None and soon.machine is not None and soon.owner is not None:
        soon = soon._replace(owner=_later_owner(cluster, pool, worker, soon))
    pool.later.update(worker.id, worker.labels, soon)
    allocations = sorted((*kept, *fresh), key=_BY_TOKEN) if soon else ()
    pool.running_allocations.set(worker.id, worker.labels, soon.owner if soon else None, tuple(allocations))


def _with_machine(
    cluster: Cluster, pool: Pool, worker: Worker, spot: WorkerCapacity | None
) -> WorkerCapacity | None:
    """Return the capacity of a worker with the owner of its machine.

    In a pool that is not exclusive, a worker accepts nothing while workers of exclusive pools have runs on its
    machine.
    """
    others = cluster.workers_by_machine.others(worker.id)
    if spot is None or not others:
        return spot
    if not pool.policy.exclusive:
        guarded = [name for name in others if cluster.is_exclusive(name)]
        owner = owner_of(guarded, cluster.workers)
        return spot._replace(owner=owner, is_held_elsewhere=owner is not None)
    peers = _peers(cluster, pool, others)
    return spot._replace(
        owner=owner_of((worker.id, *others), cluster.workers),
        machine=worker.machine,
        is_held_elsewhere=any(cluster.workers[name].held for name in others if name not in peers),
    )


def _later_owner(cluster: Cluster, pool: Pool, worker: Worker, soon: WorkerCapacity) -> TenantId | None:
    """Return the owner of a machine with several workers once all leaving runs have left."""
    peers = _peers(cluster, pool, cluster.workers_by_machine.others(worker.id))
    here = (worker, *(cluster.workers[name] for name in peers))
    is_held = soon.is_held_elsewhere or any(_count_staying(cluster, pool, one) for one in here)
    return soon.owner if is_held else None


def _peers(cluster: Cluster, pool: Pool, others: Iterable[WorkerId]) -> list[WorkerId]:
    """Return those of the other workers of a machine that are in this pool's index."""
    found = ((name, cluster.workers[name]) for name in others)
    return [
        name for name, one in found if one.pool == pool.policy.name and spot_of(one, pool.policy) is not None
    ]


def _count_staying(cluster: Cluster, pool: Pool, worker: Worker) -> int:
    leaving = [
        run
        for run in cluster.runs_on.get(worker.id, ())
        if run in pool.leaving and cluster.runs[run].allocation in worker.held
    ]
    return len(worker.held) - len(leaving)


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
