"""Where runs without slots go: to the worker that has taken the fewest of them, then by id."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable

from shared.ids import WorkerId


class Auxiliary:
    """The index: workers by group, and by how many more of such runs they take."""

    def __init__(self) -> None:
        self._places: dict[Hashable, dict[int, list[WorkerId]]] = {}

    def enter(self, worker: WorkerId, group: Hashable, more: int) -> None:
        if more > 0:
            insort(self._places.setdefault(group, {}).setdefault(more, []), worker)

    def leave(self, worker: WorkerId, group: Hashable, more: int) -> None:
        if more <= 0:
            return
        places = self._places[group]
        workers = places[more]
        del workers[bisect_left(workers, worker)]
        if not workers:
            del places[more]
            if not places:
                del self._places[group]

    def emptiest(self, groups: Iterable[Hashable]) -> WorkerId | None:
        """The worker of these groups that takes the most more; None: nobody takes any."""
        found = []
        for group in groups:
            if places := self._places.get(group):
                more = max(places)
                found.append((-more, places[more][0]))
        return min(found)[1] if found else None
