"""What a pool knows of one machine, brought in line with its records: what is free there, what soon will be, who could be asked to leave."""

from collections.abc import Iterable
from operator import attrgetter

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.own_slots import own_slots
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
    """Brings the indexes of machines in line with what has changed there. Whoever asks what is free begins with it: a plan, an
    explanation, a view. Between turns nothing else looks, and what ends by the next turn need not be taken in twice."""
    for name, runs in cluster.machines.take_touched().items():
        worker = cluster.workers.get(name)
        if worker is not None and worker.pool in cluster.pools:
            refresh_machine(cluster, cluster.pools[worker.pool], worker, runs)


def refresh_machine(cluster: Cluster, pool: Pool, worker: Worker, touched: Touched | None) -> None:
    """Makes the pool's indexes true to a machine of which these runs have changed; None: anything may have."""
    spot = spot_of(worker, pool.policy)
    pool.capacity.see(worker.id, worker.labels, spot)
    if pool.later is None:
        return
    kept, looked_at = _sorted_out(cluster, pool, worker, touched)
    soon, fresh = _look(cluster, pool, worker, spot, looked_at)
    pool.later.see(worker.id, worker.labels, soon)
    standers = sorted((*kept, *fresh), key=_BY_TOKEN) if soon else ()
    pool.standing.set(worker.id, worker.labels, soon.owner if soon else None, tuple(standers))


_BY_TOKEN = attrgetter("token")


def _sorted_out(
    cluster: Cluster, pool: Pool, worker: Worker, touched: Touched | None
) -> tuple[list[RunningAllocation], Iterable[RunId]]:
    """Those who stand there as before, and the runs to look at. Where others are leaving, or lent slots, all are looked at."""
    here = cluster.runs_on.get(worker.id, {})
    if touched is None or pool.policy.elastic:
        return [], here
    kept = [one for one in pool.standing.on(worker.id) if one.token not in touched]
    fresh = [run for run in touched.values() if run in here]
    return (kept, fresh) if len(kept) + len(fresh) == len(here) else ([], here)


def _look(
    cluster: Cluster, pool: Pool, worker: Worker, spot: WorkerCapacity | None, runs: Iterable[RunId]
) -> tuple[WorkerCapacity | None, list[RunningAllocation]]:
    """What will be free once all has left that is leaving or lent, and who stands there."""
    standers: list[RunningAllocation] = []
    for run_id in runs:
        run, charge = cluster.runs[run_id], pool.charges.get(run_id)
        hold = worker.held.get(run.allocation)
        if spot is None or charge is None or hold is None:
            continue
        if charge.is_leaving:
            spot = after_release(spot, hold.slot_ids, hold.part)
            continue
        trial = cluster.trials[run.trial]
        if pool.policy.elastic and trial.wish.needs.is_elastic:
            lent = len(hold.slot_ids) - own_slots(run, trial)[worker.id]
            spot = spot._replace(free=spot.free + lent)
        freed = worker.freed_by(hold)
        restart_ms = cluster.pauses.get(run.experiment, "restart")
        standers.append(
            running_allocation_of(pool.policy, trial, run, charge.leaf, charge.slots, freed, restart_ms)
        )
    return spot, standers
