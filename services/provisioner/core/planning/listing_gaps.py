"""How long and how often providers have not listed a machine. Listings may be late, so one missing entry proves nothing."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class Absence:
    """The first listing that missed a machine, and the number of listings that have."""

    since: datetime
    readings: int = 1


class Absences:
    """Missing machines; only `sample` changes them."""

    def __init__(self) -> None:
        self._missed: dict[WorkerId, Absence] = {}

    @property
    def missed(self) -> Mapping[WorkerId, Absence]:
        return self._missed

    def sample(self, expected: Iterable[WorkerId], seen: Collection[WorkerId], now: datetime) -> None:
        """Record a listing: which machines were expected, and which were seen."""
        before = self._missed
        self._missed = {
            worker: Absence(before[worker].since, before[worker].readings + 1)
            if worker in before
            else Absence(now)
            for worker in expected
            if worker not in seen
        }
