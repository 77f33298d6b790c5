"""Since when providers have not named a machine of ours, and how often: their answers may be late, so one missing reading says nothing."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class Absence:
    """The first reading that missed it, and how many have since."""

    since: datetime
    readings: int = 1


class Absences:
    """Advanced by readings alone."""

    def __init__(self) -> None:
        self._missed: dict[WorkerId, Absence] = {}

    @property
    def missed(self) -> Mapping[WorkerId, Absence]:
        return self._missed

    def sample(self, expected: Iterable[WorkerId], seen: Collection[WorkerId], now: datetime) -> None:
        """Takes in a reading: who should be there, and who is."""
        before = self._missed
        self._missed = {
            worker: Absence(before[worker].since, before[worker].readings + 1)
            if worker in before
            else Absence(now)
            for worker in expected
            if worker not in seen
        }
