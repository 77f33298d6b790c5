"""Fair share: at every level of tenant > workspace > user > experiment the child with the lowest usage goes first.

A child's key is (it holds its guarantee already, priority, share / weight, submission order). Only experiments
have a priority; it orders the experiments of one user only. The share is the number of slots held now plus the
decayed average of past usage, in exact numbers. Slots are the only resource, so the dominant share is that of
slots, and the pool's size is left out as a common divisor. Masks restrict the search to children with feasible
shapes.
"""

from heapq import heapify, heappop, heapreplace

from services.scheduler.core.planning.order.interface import FeasibleShapes
from services.scheduler.core.planning.usage_rank import UsageRank
from services.scheduler.core.state.indexes.decay import UsageHistory
from services.scheduler.core.state.indexes.queue import Queue
from services.scheduler.core.state.indexes.share_tree import NEVER, RequestGroup, ShareNode
from services.scheduler.core.state.indexes.slot_shares import SlotShares
from services.scheduler.core.state.records.slots import SlotCount

_Key = tuple[bool, int, int, int]
ALONE: _Key = (False, 0, 0, 0)
"""The key of an only child is never compared."""
_Entry = tuple[_Key, int, ShareNode]


class FairShareOrder:
    """Descends from the root. The heap of a node's children is built on first use."""

    def __init__(
        self,
        queue: Queue,
        shares: SlotShares,
        history: UsageHistory,
        favoured: RequestGroup | None,
        now_ms: int,
    ) -> None:
        self._queue, self._shares = queue, shares
        self._ranking = UsageRank(history, now_ms)
        self._heaps: dict[ShareNode, list[_Entry]] = {}
        self._served: dict[RequestGroup, int] = {}
        self._over: set[RequestGroup] = set()
        self._within: dict[SlotCount, int] = {}
        self._favoured = favoured
        self._on_favoured = set(favoured.leaf.upwards()) if favoured else set()

    def next(self, feasible: FeasibleShapes) -> RequestGroup | None:
        while True:
            node, mask = self._shares.root, -1
            room: SlotCount = NEVER
            while node.children:
                found = self._least(node, mask, room, feasible)
                if found is None:
                    break
                node, mask = found
                room = min(room, node.remaining_slots)
            else:
                line = self._line(node, mask & self._sizes(room))
                if line is not None:
                    return line
            if node.parent is None:
                return None
            # Nothing is left at this node, which was the first of its siblings.
            heappop(self._heaps[node.parent])

    def granted(self, line: RequestGroup) -> None:
        self._served[line] = served = self.first_of(line) + 1
        if served == len(line.keys):
            self._over.add(line)
        self._rank_again(line)

    def passed(self, line: RequestGroup) -> None:
        self._over.add(line)
        if line is self._favoured:
            self._rank_again(line)

    def first_of(self, line: RequestGroup) -> int:
        return self._served.get(line, 0)

    def _rank_again(self, line: RequestGroup) -> None:
        """Recompute the keys of the holders of the group just served; they are first in their heaps."""
        if line is self._favoured:
            self._favoured, self._on_favoured = None, set()
        for node in line.leaf.upwards():
            if node.parent is not None and len(heap := self._heaps[node.parent]) > 1:
                heapreplace(heap, (self._key(node), heap[0][1], node))

    def _least(
        self, node: ShareNode, mask: int, room: SlotCount, feasible: FeasibleShapes
    ) -> tuple[ShareNode, int] | None:
        """Return the next child and its feasible shapes."""
        heap = self._heaps.get(node)
        if heap is None:
            children = [child for child in node.children.values() if child.mask & mask]
            is_one = len(children) == 1
            heap = [(ALONE if is_one else self._key(child), at, child) for at, child in enumerate(children)]
            self._heaps[node] = heap
            heapify(heap)
        while heap:
            child = heap[0][2]
            wanted = feasible(child) if node.parent is None else mask
            if child.mask & wanted & self._sizes(min(room, child.remaining_slots)) and not child.is_full:
                return child, wanted
            heappop(heap)
        return None

    def _line(self, leaf: ShareNode, mask: int) -> RequestGroup | None:
        lines = (line for line in leaf.lines.values() if line.bit & mask and line not in self._over)
        if self._favoured is not None and self._favoured.leaf is leaf and self._favoured.bit & mask:
            return self._favoured
        return min(lines, key=lambda line: line.keys[self.first_of(line)], default=None)

    def _sizes(self, room: SlotCount) -> int:
        """Return the shapes that fit into this many slots."""
        if room >= NEVER:
            return -1
        if room not in self._within:
            self._within[room] = self._queue.smaller(room)
        return self._within[room]

    def _key(self, node: ShareNode) -> _Key:
        if node in self._on_favoured:
            return (node.held >= node.quota.guaranteed, -1, 0, 0)
        return (*self._ranking.rank(node, node.held), node.first)
