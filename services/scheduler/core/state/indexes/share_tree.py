"""Who may hold slots of a pool, as a tree tenant > workspace > user > experiment, and what experiments wait for: the lines at its leaves.

Neighbours: `slot_shares` counts what they hold, `queue` keeps the lines.
"""

from collections.abc import Iterator

from services.scheduler.core.state.indexes.decay import DecayedUsage
from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.records.pool import NO_QUOTA, Path, Quota
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import TrialId

Key = tuple[int, int, TrialId]
"""Place, submission (ms), id."""
NEVER = 1 << 62


class ShareNode:
    """One holder.

    Attributes:
        weight: In thousandths.
        tenant, workspace: The nodes of these on the way down (itself, where there is none).
        held: Slots that its runs occupy; `leaving` of them are on their way back.
        runs: How many runs occupy something.
        is_spent: Its budget for the month is used up: it keeps what it holds, and gets nothing more.
        affordable: Slots up to which its budget bears machines.
        past: What `history` has of it, once that was asked for.
        asked: Slots that it waits for, as far as those below could use them; `usable`: as far as its own maximum and budget allow.
        priority: Of an experiment; 0 for those above it.
        lines: What an experiment waits for; `mask` has the bits of all shapes that wait at or below a node.
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
        *("held", "leaving", "runs", "is_spent", "affordable"),
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
        self.affordable: SlotCount = NEVER
        self.past: DecayedUsage | None = None
        self.held: SlotCount = 0
        self.leaving: SlotCount = 0
        self.asked: SlotCount = 0
        self.usable: SlotCount = 0
        self.runs = self.mask = 0
        self._counts: dict[int, int] = {}
        self._first: int | None = None

    @property
    def room(self) -> SlotCount:
        """Slots that its maximum and its budget still allow."""
        if self.is_spent:
            return 0  # What holds no slots costs nothing, and starts.
        maximum = self.quota.maximum
        return NEVER if maximum is None else maximum - self.held

    @property
    def growth(self) -> SlotCount:
        """Slots that machines may be brought up for. What stands already is granted until the budget is spent."""
        return self.room if self.affordable is NEVER else min(self.room, self.affordable - self.held)

    @property
    def unaffordable(self) -> SlotCount:
        """Slots that it waits for and its budget bears no machines for."""
        return max(0, self.asked - max(0, self.affordable - self.held))

    @property
    def is_full(self) -> bool:
        """Whether no further run is allowed, whatever its size."""
        return self.max_runs is not None and self.runs >= self.max_runs

    @property
    def staying(self) -> SlotCount:
        """Slots that it will still hold when what is leaving has left."""
        return self.held - self.leaving

    @property
    def first(self) -> int:
        """The lowest place of what waits at or below."""
        if self._first is None:
            firsts = [line.keys[0][0] for line in self.lines.values()]
            firsts += [child.first for child in self.children.values() if child.mask]
            self._first = min(firsts, default=NEVER)
        return self._first

    @property
    def is_idle(self) -> bool:
        return not (self.children or self.lines or self.held or self.runs or self.leaving)

    def limit(self, quota: Quota) -> None:
        """Another quota. What could be used changes with it: `Shares.limit` sees to that."""
        self.quota = quota
        self.weight = max(1, round(quota.weight * 1000))

    def upwards(self) -> Iterator["ShareNode"]:
        """This node and those above it, the tenant last; the root belongs to nobody."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent

    def count_line(self, bit: int, sign: int) -> None:
        """A line of this shape has appeared below, or gone."""
        count = self._counts.get(bit, 0) + sign
        self._counts[bit] = count
        self.mask = self.mask | bit if count else self.mask & ~bit

    def forget_first(self, place: int) -> None:
        """What waits at this place below has come or gone; holders that know of an earlier one keep it."""
        node = self
        while node.parent is not None and (node._first is None or node._first >= place):
            node._first = None
            node = node.parent


class RequestGroup:
    """Requests that wait for the same thing; `bit` stands for their shape in masks, `keys` are in order."""

    __slots__ = ("ask", "bit", "keys", "leaf", "needs")

    def __init__(self, leaf: ShareNode, needs: SlotNeeds, ask: PlacementRequest, bit: int) -> None:
        self.leaf, self.needs, self.ask, self.bit = leaf, needs, ask, bit
        self.keys: list[Key] = []
