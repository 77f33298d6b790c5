"""What runs on each worker, sampled from the scheduler's view, and since when it has nothing to do: forgotten at the first sign of work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.ids import TenantId, WorkerId


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """Slots that are used; `pieces`: by each run that is there; `gangs`: how many of these stand on other machines too. `tenant`: whose they are, where
    the machine serves one at a time."""

    used_slots: int
    pieces: tuple[int, ...] = ()
    gangs: int = 0
    tenant: TenantId | None = None


class Loads:
    """Advanced by samples alone; a worker that was not seen in the last one is not idle."""

    def __init__(self) -> None:
        self._since: dict[WorkerId, datetime] = {}
        self._now: Mapping[WorkerId, WorkerLoad] = {}

    @property
    def idle_since(self) -> Mapping[WorkerId, datetime]:
        return self._since

    @property
    def now(self) -> Mapping[WorkerId, WorkerLoad]:
        """As of the last sample."""
        return self._now

    def sample(self, loads: Mapping[WorkerId, WorkerLoad], now: datetime) -> None:
        """Takes in what is used now."""
        self._now = loads
        self._since = {
            worker: self._since.get(worker, now) for worker, load in loads.items() if load.used_slots == 0
        }
