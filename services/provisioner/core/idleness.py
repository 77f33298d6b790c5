"""Since when each worker has nothing to do: sampled from the scheduler's view, forgotten at the first sign of work."""

from collections.abc import Mapping
from datetime import datetime

from shared.ids import WorkerId


class Idleness:
    """Advanced by samples alone; a worker that was not seen in the last one is not idle."""

    def __init__(self) -> None:
        self._since: dict[WorkerId, datetime] = {}

    @property
    def since(self) -> Mapping[WorkerId, datetime]:
        return self._since

    def sample(self, used_slots: Mapping[WorkerId, int], now: datetime) -> None:
        """Takes in how many slots of each worker are used now."""
        self._since = {
            worker: self._since.get(worker, now) for worker, used in used_slots.items() if used == 0
        }
