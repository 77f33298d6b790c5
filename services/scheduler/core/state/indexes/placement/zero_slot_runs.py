"""Placement of runs without slots: on the worker with the fewest of them, then by id."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable

from shared.ids import WorkerId


class Auxiliary:
    """The index: workers by group and by how many more runs without slots they accept."""

    def __init__(self) -> None:
        self._by_capacity: dict[Hashable, dict[int, list[WorkerId]]] = {}

    def enter(self, worker: WorkerId, group: Hashable, more: int) -> None:
        if more > 0:
            insort(self._by_capacity.setdefault(group, {}).setdefault(more, []), worker)

    def leave(self, worker: WorkerId, group: Hashable, more: int) -> None:
        if more <= 0:
            return
        workers_by_more = self._by_capacity[group]
        workers = workers_by_more[more]
        del workers[bisect_left(workers, worker)]
        if not workers:
            del workers_by_more[more]
            if not workers_by_more:
                del self._by_capacity[group]

    def emptiest(self, groups: Iterable[Hashable]) -> WorkerId | None:
        """Return the worker of these groups that accepts the most; None if none accepts any."""
        found = []
        for group in groups:
            if workers_by_more := self._by_capacity.get(group):
                more = max(workers_by_more)
                found.append((-more, workers_by_more[more][0]))
        return min(found)[1] if found else None
