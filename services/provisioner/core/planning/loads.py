"""Load of each worker, sampled from the scheduler, and since when it has been idle."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.ids import TenantId, WorkerId


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """Usage of a worker.

    Attributes:
        used_slots: Slots in use.
        run_slots: Slots of each run.
        gangs: Number of runs that also use other machines.
        tenant: Its tenant, if the machine serves one tenant at a time.
    """

    used_slots: int
    run_slots: tuple[int, ...] = ()
    gangs: int = 0
    tenant: TenantId | None = None


class Loads:
    """Load of workers; only `sample` changes it. A worker missing from the last sample is not idle."""

    def __init__(self) -> None:
        self._since: dict[WorkerId, datetime] = {}
        self._now: Mapping[WorkerId, WorkerLoad] = {}

    @property
    def idle_since(self) -> Mapping[WorkerId, datetime]:
        return self._since

    @property
    def now(self) -> Mapping[WorkerId, WorkerLoad]:
        """The last sample."""
        return self._now

    def sample(self, loads: Mapping[WorkerId, WorkerLoad], now: datetime) -> None:
        """Record the current load."""
        self._now = loads
        self._since = {
            worker: self._since.get(worker, now) for worker, load in loads.items() if load.used_slots == 0
        }
