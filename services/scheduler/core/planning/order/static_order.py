"""Orders that do not depend on time: fifo, and priority with linear ageing.

With ageing, a request's key is priority · ageing + submission time, in milliseconds, as if its priority number
decreased by one every `ageing`. All keys decrease equally, so the order never changes and nothing is sorted
again. A request of priority p is overtaken only by requests of a priority p' < p submitted less than (p - p') ·
ageing after it.

With a quantum, experiments of the same rank alternate: those that hold the fewest slots first, then those that
yielded longest ago. Slots held only increase during a plan, so a group's key is checked again when it reaches
the front.

Requests that a guarantee covers go before all others. A plan's grants only use up guarantees, so a group that
was covered when it was ranked is checked again when it reaches the front.
"""

from datetime import timedelta
from heapq import heapify, heappop, heapreplace

from services.scheduler.core.planning.order.interface import FeasibleShapes
from services.scheduler.core.planning.preemption.rights import is_covered
from services.scheduler.core.state.indexes.queue import Queue
from services.scheduler.core.state.indexes.share_tree import Key, RequestGroup
from services.scheduler.core.state.indexes.yield_times import YieldTimes
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.slots import SlotCount
from shared.ids import ExperimentId

_Entry = tuple[tuple[SlotCount, ...], int, RequestGroup]


class StaticOrder:
    """Request groups by the key of their first request; ties by submission order."""

    def __init__(self, queue: Queue, policy: PoolPolicy, yield_times: YieldTimes) -> None:
        self._policy, self._yield_times = policy, yield_times
        self._served: dict[RequestGroup, int] = {}
        # The position only prevents comparing groups; keys never tie.
        self._heap: list[_Entry] = [
            (self._rank(line, line.keys[0]), at, line) for at, line in enumerate(queue.lines.values())
        ]
        heapify(self._heap)

    def next(self, feasible: FeasibleShapes) -> RequestGroup | None:
        while self._heap:
            ranked = self._heap[0]
            line = ranked[-1]
            if not line.bit & feasible(line):
                heappop(self._heap)
                continue
            present = self._entry(line)
            if ranked[0] == present[0]:
                return line
            heapreplace(self._heap, present)
        return None

    def granted(self, line: RequestGroup) -> None:
        self._served[line] = served = self.first_of(line) + 1
        if served == len(line.keys):
            heappop(self._heap)
        else:
            heapreplace(self._heap, self._entry(line))

    def passed(self, line: RequestGroup) -> None:
        heappop(self._heap)

    def first_of(self, line: RequestGroup) -> int:
        return self._served.get(line, 0)

    def _entry(self, line: RequestGroup) -> _Entry:
        """Return the current heap entry of the group at the top."""
        return (self._rank(line, line.keys[self.first_of(line)]), self._heap[0][1], line)

    def _rank(self, line: RequestGroup, key: Key) -> tuple[SlotCount, ...]:
        if self._policy.quantum is None:
            return key_of(self._policy, line, key)
        experiment: ExperimentId = line.leaf.path[3]  # type: ignore[assignment]
        place, submitted_ms, trial = key
        since_ms = max(submitted_ms, self._yield_times.last_yield_ms(experiment))
        is_late, rank, _ = key_of(self._policy, line, (place, since_ms, trial))
        return (is_late, rank, line.leaf.held, since_ms, place)


def key_of(policy: PoolPolicy, line: RequestGroup, key: Key) -> tuple[bool, int, int]:
    """Return the sort key of a request; smaller goes first."""
    place, submitted_ms, _ = key
    is_late = not is_covered(policy, line.leaf, line.needs.least)
    if policy.order == "fifo":
        return (is_late, 0, place)
    if policy.ageing is None:
        return (is_late, line.leaf.priority, place)
    aged = line.leaf.priority * (policy.ageing // timedelta(milliseconds=1)) + submitted_ms
    return (is_late, aged, place)
