"""The holders of a pool's slots, as a tree tenant > workspace > user > experiment. The leaves (experiments)
carry the waiting requests, grouped by shape.

See `slot_shares` for what holders hold, and `queue` for the request groups.
"""

from collections.abc import Iterator

from services.scheduler.core.state.indexes.decay import DecayedUsage
from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.records.pool import NO_QUOTA, Path, Quota
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import TrialId

Key = tuple[int, int, TrialId]
"""Submission order, submission time (ms), trial id."""
NEVER = 1 << 62


class ShareNode:
    """One holder.

    Attributes:
        weight: In thousandths.
        tenant, workspace: The ancestors at these levels (the node itself if there is none).
        held: Slots that its runs occupy. `leaving`: those of them that runs are giving up.
        runs: How many runs occupy something.
        is_spent: Its budget for the month is spent: it keeps what it holds and receives nothing more.
        is_excluded: Of a tenant: the pool serves another tenant only.
        affordable_slots: The number of slots for which its budget still allows machines.
        past: Its entry in `history`, once it was looked up.
        asked: Slots that it waits for, as far as its descendants could use them. `usable`: as far as its own
            maximum and budget allow.
        priority: Of an experiment; 0 for other holders.
        lines: The request groups of an experiment. `mask` has the bits of all shapes that wait at or below the node.
    """

    __slots__ = (
        *(
            "path",
            "parent",
            "tenant",
            "workspace",
            "children",
            "quota",
            "weight",
            "priority",
            "max_runs",
            "past",
        ),
        *("held", "leaving", "runs", "is_spent", "is_excluded", "affordable_slots"),
        *("asked", "usable", "mask", "lines", "_counts", "_first"),
    )

    def __init__(self, path: Path, parent: "ShareNode | None", quota: Quota = NO_QUOTA) -> None:
        self.path, self.parent = path, parent
        self.limit(quota)
        self.tenant: ShareNode = parent.tenant if parent and len(path) > 1 else self
        self.workspace: ShareNode = parent.workspace if parent and len(path) > 2 else self
        self.children: dict[object, ShareNode] = {}
        self.lines: dict[object, RequestGroup] = {}
        self.priority = 0
        self.max_runs: int | None = None
        self.is_spent = False
        self.is_excluded = False
        self.affordable_slots: SlotCount = NEVER
        self.past: DecayedUsage | None = None
        self.held: SlotCount = 0
        self.leaving: SlotCount = 0
        self.asked: SlotCount = 0
        self.usable: SlotCount = 0
        self.runs = self.mask = 0
        self._counts: dict[int, int] = {}
        self._first: int | None = None

    @property
    def remaining_slots(self) -> SlotCount:
        """Slots that its maximum and its budget still allow."""
        if self.is_spent or self.is_excluded:
            return 0  # runs without slots cost nothing and still start
        maximum = self.quota.maximum
        return NEVER if maximum is None else maximum - self.held

    @property
    def growth(self) -> SlotCount:
        """Slots for which machines may be added. Existing machines are used until the budget is spent."""
        return (
            self.remaining_slots
            if self.affordable_slots is NEVER
            else min(self.remaining_slots, self.affordable_slots - self.held)
        )

    @property
    def unaffordable(self) -> SlotCount:
        """Slots that it waits for and for which its budget allows no machines."""
        return max(0, self.asked - max(0, self.affordable_slots - self.held))

    @property
    def is_full(self) -> bool:
        """Whether it has reached its maximum number of runs."""
        return self.max_runs is not None and self.runs >= self.max_runs

    @property
    def held_after_leaving(self) -> SlotCount:
        """Slots that it still holds after the leaving runs have ended."""
        return self.held - self.leaving

    @property
    def first(self) -> int:
        """The lowest submission order of the requests at or below the node."""
        if self._first is None:
            firsts = [line.keys[0][0] for line in self.lines.values()]
            firsts += [child.first for child in self.children.values() if child.mask]
            self._first = min(firsts, default=NEVER)
        return self._first

    @property
    def is_idle(self) -> bool:
        return not (self.children or self.lines or self.held or self.runs or self.leaving)

    def limit(self, quota: Quota) -> None:
        """Set another quota. `Shares.limit` updates the usable slots."""
        self.quota = quota
        self.weight = max(1, round(quota.weight * 1000))

    def upwards(self) -> Iterator["ShareNode"]:
        """Yield this node and its ancestors up to the tenant, without the root."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent

    def count_line(self, bit: int, sign: int) -> None:
        """Count a request group of this shape that appeared below (+1) or disappeared (-1)."""
        count = self._counts.get(bit, 0) + sign
        self._counts[bit] = count
        self.mask = self.mask | bit if count else self.mask & ~bit

    def forget_first(self, place: int) -> None:
        """Invalidate the cached lowest submission order after a request at `place` was added or removed below.
        Holders with an earlier request keep theirs."""
        node = self
        while node.parent is not None and (node._first is None or node._first >= place):
            node._first = None
            node = node.parent


class RequestGroup:
    """Requests of one experiment with the same shape. `bit` represents the shape in masks; `keys` are sorted."""

    __slots__ = ("ask", "bit", "keys", "leaf", "needs")

    def __init__(self, leaf: ShareNode, needs: SlotNeeds, ask: PlacementRequest, bit: int) -> None:
        self.leaf, self.needs, self.ask, self.bit = leaf, needs, ask, bit
        self.keys: list[Key] = []
