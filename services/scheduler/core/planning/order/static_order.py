"""Orders that do not depend on time: fifo, and priority with linear ageing.

With ageing, a request's key is priority · ageing + submission, in milliseconds: it is as if its priority fell by one every
`ageing`. All fall alike, so the order never changes and nothing is sorted again; and the bound is plain: a request of
priority p is passed only by requests of a priority p' < p submitted less than (p - p') · ageing after it.

With a quantum, equals (of one priority) go round: experiments that hold fewest slots first, then those that yielded longest ago.
What is held only grows while a plan grants, so here too a line is looked at again when it comes up.

Requests that a guarantee covers go before all others. What a plan grants only uses guarantees up, so a line that was covered
when it was ranked is looked at again when it comes up.
"""

from datetime import timedelta
from heapq import heapify, heappop, heapreplace

from services.scheduler.core.planning.order.port import FeasibleShapes
from services.scheduler.core.planning.preemption.rights import is_covered
from services.scheduler.core.state.indexes.queue import Queue
from services.scheduler.core.state.indexes.share_tree import Key, RequestGroup
from services.scheduler.core.state.indexes.yield_times import YieldTimes
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.slots import SlotCount
from shared.ids import ExperimentId

_Entry = tuple[tuple[SlotCount, ...], int, RequestGroup]


class StaticOrder:
    """Lines by the key of their first request; ties by place."""

    def __init__(self, queue: Queue, policy: PoolPolicy, turns: YieldTimes) -> None:
        self._policy, self._turns = policy, turns
        self._served: dict[RequestGroup, int] = {}
        # The position breaks no tie (places differ): it keeps lines from being compared.
        self._heap: list[_Entry] = [
            (self._rank(line, line.keys[0]), at, line) for at, line in enumerate(queue.lines.values())
        ]
        heapify(self._heap)

    def next(self, hope: FeasibleShapes) -> RequestGroup | None:
        while self._heap:
            ranked = self._heap[0]
            line = ranked[-1]
            if not line.bit & hope(line):
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
        """The line as it stands now, at the top of the heap."""
        return (self._rank(line, line.keys[self.first_of(line)]), self._heap[0][1], line)

    def _rank(self, line: RequestGroup, key: Key) -> tuple[SlotCount, ...]:
        if self._policy.quantum is None:
            return key_of(self._policy, line, key)
        experiment: ExperimentId = line.leaf.path[3]  # type: ignore[assignment]
        place, submitted_ms, trial = key
        since_ms = max(submitted_ms, self._turns.last_ms(experiment))
        is_late, rank, _ = key_of(self._policy, line, (place, since_ms, trial))
        return (is_late, rank, line.leaf.held, since_ms, place)


def key_of(policy: PoolPolicy, line: RequestGroup, key: Key) -> tuple[bool, int, int]:
    """What is smaller goes first."""
    place, submitted_ms, _ = key
    is_late = not is_covered(policy, line.leaf, line.needs.least)
    if policy.order == "fifo":
        return (is_late, 0, place)
    if policy.ageing is None:
        return (is_late, line.leaf.priority, place)
    aged = line.leaf.priority * (policy.ageing // timedelta(milliseconds=1)) + submitted_ms
    return (is_late, aged, place)
