"""What each worker carries: for the provisioner, which asks whether the same work could stand elsewhere for less. Neighbour: `queries.py`, which tells it."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.worker import Liveness, Worker
from shared.ids import TenantId, WorkerId


@dataclass(frozen=True, slots=True)
class WorkerOccupancy:
    """Slots that are taken; `pieces`: by each run that has not ended, those that share a slot with others as one each; `gangs`: how many of
    these have parts on other workers. `tenant`: whose they are, where there are any."""

    used_slots: int
    pieces: tuple[int, ...] = ()
    gangs: int = 0
    tenant: TenantId | None = None


def loads_of_all(cluster: Cluster) -> Mapping[WorkerId, WorkerOccupancy]:
    """Of all workers that are not gone."""
    there = (worker for worker in cluster.workers.values() if worker.liveness is not Liveness.GONE)
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
