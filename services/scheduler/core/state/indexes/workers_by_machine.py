"""The workers of each machine, and the tenant that it serves. Several workers may run on one machine, also in several pools."""

from collections.abc import Iterable, Mapping

from services.scheduler.core.state.records.worker import (
    SEVERAL_TENANTS,
    Liveness,
    MachineId,
    Worker,
)
from shared.ids import TenantId, WorkerId


class WorkersByMachine:
    """The index. Workers that report no machine are not in it."""

    def __init__(self) -> None:
        self._workers: dict[MachineId, dict[WorkerId, None]] = {}
        self._machine: dict[WorkerId, MachineId] = {}

    def put(self, worker: Worker) -> Iterable[WorkerId]:
        """Update a worker's machine. Return the other workers of the machine that it left or that it joined."""
        before = self._machine.get(worker.id)
        machine = None if worker.liveness is Liveness.REMOVED else worker.machine
        if before == machine:
            return ()
        moved = [*self.others(worker.id)]
        if before is not None:
            del self._machine[worker.id]
            del self._workers[before][worker.id]
            if not self._workers[before]:
                del self._workers[before]
        if machine is not None:
            self._machine[worker.id] = machine
            self._workers.setdefault(machine, {})[worker.id] = None
        return (*moved, *self.others(worker.id))

    def others(self, worker: WorkerId) -> list[WorkerId]:
        """Return the other workers of a worker's machine."""
        machine = self._machine.get(worker)
        if machine is None:
            return []
        return [one for one in self._workers[machine] if one != worker]


def owner_of(workers: Iterable[WorkerId], records: Mapping[WorkerId, Worker]) -> TenantId | None:
    """Return the tenant of everything that runs on these workers; `SEVERAL_TENANTS` if it is not one tenant."""
    tenants = {hold.tenant for name in workers for hold in records[name].held.values()}
    if not tenants:
        return None
    owner = tenants.pop()
    return SEVERAL_TENANTS if tenants or owner is None else owner
