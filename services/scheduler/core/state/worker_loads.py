"""The load of each worker. The provisioner uses it to decide whether the same work would fit on cheaper
machines. See `queries` for the reply."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.worker import Liveness, Worker
from shared.ids import TenantId, WorkerId


@dataclass(frozen=True, slots=True)
class WorkerOccupancy:
    """The load of one worker.

    Attributes:
        used_slots: Occupied slots.
        pieces: Slots of each run that has not ended; a run with a fraction of a slot counts 1.
        gangs: How many of these runs also have slots on other workers.
        tenant: The tenant of the work, if there is any.
    """

    used_slots: int
    pieces: tuple[int, ...] = ()
    gangs: int = 0
    tenant: TenantId | None = None


def loads_of_all(cluster: Cluster) -> Mapping[WorkerId, WorkerOccupancy]:
    """Return the load of every worker that is not removed."""
    there = (worker for worker in cluster.workers.values() if worker.liveness is not Liveness.REMOVED)
    return {worker.id: load_of(cluster, worker) for worker in there}


def load_of(cluster: Cluster, worker: Worker) -> WorkerOccupancy:
    pieces: list[int] = []
    gangs = 0
    for run_id in cluster.runs_on.get(worker.id, {}):
        run = cluster.runs[run_id]
        if not run.is_ended:
            pieces += [share.slots for share in run.shares if share.worker == worker.id]
            gangs += len(run.shares) > 1
    return WorkerOccupancy(worker.used_slots, tuple(pieces), gangs, worker.taken().owner)
