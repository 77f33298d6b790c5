"""Who holds how much of a pool: a tree tenant > workspace > user > experiment, with quotas. Order and admission read it.

Charges made inside `tentative` vanish at its end, so that a plan may count what it grants. Most are made again at once, when the plan
is carried out: from `gather` to `settle` charges are added up by holder, and those that come to nothing move nobody.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from services.scheduler.core.decay import History, Past
from services.scheduler.core.pool import NO_QUOTA, Quota
from services.scheduler.core.run import Grant
from services.scheduler.core.slots import SlotCount
from services.scheduler.core.spending import Spending
from services.scheduler.core.trial import Wish
from shared.ids import ExperimentId, TenantId

if TYPE_CHECKING:
    from services.scheduler.core.queue import Line

Path = tuple[object, ...]
"""Tenant, workspace, user, experiment; a beginning of it names a node. What names no workspace or user stands under the wish's defaults."""

NEVER = 1 << 62


class Node:
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

    def __init__(self, path: Path, parent: "Node | None", quota: Quota = NO_QUOTA) -> None:
        self.path, self.parent = path, parent
        self.limit(quota)
        self.tenant: Node = parent.tenant if parent and len(path) > 1 else self
        self.workspace: Node = parent.workspace if parent and len(path) > 2 else self
        self.children: dict[object, Node] = {}
        self.lines: dict[object, Line] = {}
        self.priority = 0
        self.max_runs: int | None = None
        self.is_spent = False
        self.affordable: SlotCount = NEVER
        self.past: Past | None = None
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

    def upwards(self) -> Iterator["Node"]:
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


class Shares:
    """The tree of one pool. `history` is kept where the order looks at past use."""

    def __init__(self) -> None:
        self.root = Node((), None)
        self.leaves: dict[ExperimentId, Node] = {}
        self.quotas: dict[Path, Quota] = {}
        self.spending: Mapping[Path, Spending] = {}
        self._price_per_slot_hour = 0.0
        self.history: History | None = None
        self._undo: list[tuple[Node, SlotCount, int, SlotCount, SlotCount]] | None = None
        self._gathered: dict[Node, tuple[SlotCount, int, SlotCount]] | None = None

    def leaf_of(self, whose: Wish | Grant) -> Node:
        """The node of an experiment, made when it is new."""
        leaf = self.leaves.get(whose.experiment)
        if leaf is None:
            node = self.root
            path: Path = (whose.tenant, whose.workspace, whose.owner, whose.experiment)
            for length in range(1, 5):
                child = node.children.get(path[length - 1])
                if child is None:
                    quota = self.quotas.get(path[:length], NO_QUOTA)
                    child = node.children[path[length - 1]] = Node(path[:length], node, quota)
                    self._budget(child)
                node = child
            leaf = self.leaves[whose.experiment] = node
        return leaf

    def keep(self, history: History | None) -> None:
        """Goes on with another past, or none."""
        self.history = history
        nodes = [self.root]
        while nodes:
            node = nodes.pop()
            node.past = None
            nodes.extend(node.children.values())

    def tenant(self, tenant: TenantId) -> Node | None:
        return self.root.children.get(tenant)

    def put_quota(self, path: Path, quota: Quota | None) -> None:
        """Sets what a tenant or workspace may hold, or lets it go."""
        if quota is None:
            self.quotas.pop(path, None)
        else:
            self.quotas[path] = quota
        if (node := self._node(path)) is not None:
            self.limit(node, quota or NO_QUOTA)

    def put_spending(self, spending: Mapping[Path, Spending], price_per_slot_hour: float) -> bool:
        """What was spent of budgets, by holder; those that are not named have none. True: somebody may start less now, or more."""
        paths = self.spending.keys() | spending.keys()
        self.spending, self._price_per_slot_hour = spending, price_per_slot_hour
        has_changed = False
        for path in paths:
            if (node := self._node(path)) is not None:
                before = node.is_spent, node.usable
                self._budget(node)
                self._spread(node, 0, 0, 0)
                has_changed |= before != (node.is_spent, node.usable)
        return has_changed

    @property
    def unaffordable(self) -> SlotCount:
        """Slots that are waited for and that no machine is brought up for, since a budget does not bear it."""
        return sum(node.unaffordable for path in self.spending if (node := self._node(path)) is not None)

    def limit(self, node: Node, quota: Quota) -> None:
        """Gives a node another quota; what could be used changes with it."""
        node.limit(quota)
        self._spread(node, 0, 0, 0)

    def change(self, leaf: Node, held: SlotCount = 0, runs: int = 0, asked: SlotCount = 0) -> None:
        """Counts slots and runs that an experiment has got, and what it waits for."""
        if self._gathered is not None:
            before = self._gathered.get(leaf, (0, 0, 0))
            self._gathered[leaf] = (before[0] + held, before[1] + runs, before[2] + asked)
            return
        if self._undo is not None:
            self._undo.append((leaf, held, runs, asked, 0))
        self._spread(leaf, held, runs, asked)

    def leave(self, leaf: Node, slots: SlotCount) -> None:
        """Counts slots that are on their way back."""
        if self._undo is not None:
            self._undo.append((leaf, 0, 0, 0, slots))
        node = leaf
        while node.parent is not None:
            node.leaving += slots
            node = node.parent

    def prune(self, leaf: Node) -> None:
        """Drops holders that hold and want nothing; where something is put off, that is seen when it is counted."""
        if self._gathered is not None and leaf in self._gathered:
            return
        node = leaf
        while node.parent is not None and node.is_idle:
            node.parent.children.pop(node.path[-1], None)
            if node is leaf:
                self.leaves.pop(leaf.path[-1], None)  # type: ignore[call-overload]
            node = node.parent

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Undoes at the end what was charged inside."""
        self._undo = []
        try:
            yield
        finally:
            undo, self._undo = self._undo, None
            for leaf, held, runs, asked, leaving in reversed(undo):
                if leaving:
                    self.leave(leaf, -leaving)
                else:
                    self.change(leaf, -held, -runs, -asked)

    def gather(self) -> None:
        """Puts off what is charged from now on. Sums are true again after `settle`."""
        self._gathered = {}

    def settle(self) -> None:
        """Counts what was put off, if anything was."""
        gathered, self._gathered = self._gathered or {}, None
        for leaf, change in gathered.items():
            if any(change):
                self._spread(leaf, *change)
            self.prune(leaf)

    def _node(self, path: Path) -> Node | None:
        node: Node | None = self.root
        for step in path:
            node = node.children.get(step) if node else None
        return node

    def _budget(self, node: Node) -> None:
        """What its budget allows from now on."""
        one = self.spending.get(node.path)
        node.is_spent = one is not None and one.is_over
        node.affordable = NEVER if one is None else node.held + one.bears(self._price_per_slot_hour)

    def _spread(self, leaf: Node, held: SlotCount, runs: int, asked: SlotCount) -> None:
        node: Node | None = leaf
        while node is not None:
            node.held += held
            node.runs += runs
            usable = node.asked = node.asked + asked
            growth = node.growth
            if usable > growth:
                usable = max(0, growth)
            asked, node.usable = usable - node.usable, usable
            if not (asked or held or runs):
                return
            node = node.parent
