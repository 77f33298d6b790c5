"""How many slots each holder of a pool holds: a tree tenant > workspace > user > experiment, with quotas. The
order and the admission of requests read it.

Charges made inside `tentative` are undone at its end, so that a plan can count what it grants. Most are made
again immediately when the plan is carried out. Between `gather` and `settle` charges are therefore summed by
holder, and those that cancel out change nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from services.scheduler.core.state.indexes.decay import UsageHistory
from services.scheduler.core.state.indexes.share_tree import NEVER, ShareNode
from services.scheduler.core.state.records.pool import NO_QUOTA, Path, Quota
from services.scheduler.core.state.records.run import Grant
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import TrialRequest
from shared.ids import ExperimentId, TenantId


class SlotShares:
    """The tree of one pool. `history` is kept only if the order uses past usage."""

    def __init__(self) -> None:
        self.root = ShareNode((), None)
        self.leaves: dict[ExperimentId, ShareNode] = {}
        self.quotas: dict[Path, Quota] = {}
        self.spending: Mapping[Path, BudgetSpending] = {}
        self._price_per_slot_hour = 0.0
        self._only_tenant: TenantId | None = None
        self.history: UsageHistory | None = None
        self._undo: list[tuple[ShareNode, SlotCount, int, SlotCount, SlotCount]] | None = None
        self._gathered: dict[ShareNode, tuple[SlotCount, int, SlotCount]] | None = None

    def leaf_of(self, whose: TrialRequest | Grant) -> ShareNode:
        """Return the node of an experiment, and create it if it is new."""
        leaf = self.leaves.get(whose.experiment)
        if leaf is None:
            node = self.root
            path: Path = (whose.tenant, whose.workspace, whose.owner, whose.experiment)
            for length in range(1, 5):
                child = node.children.get(path[length - 1])
                if child is None:
                    quota = self.quotas.get(path[:length], NO_QUOTA)
                    child = node.children[path[length - 1]] = ShareNode(path[:length], node, quota)
                    self._budget(child)
                    child.is_excluded = length == 1 and self._excludes(child)
                node = child
            leaf = self.leaves[whose.experiment] = node
        return leaf

    def keep(self, history: UsageHistory | None) -> None:
        """Use another history, or none."""
        self.history = history
        nodes = [self.root]
        while nodes:
            node = nodes.pop()
            node.past = None
            nodes.extend(node.children.values())

    def tenant(self, tenant: TenantId) -> ShareNode | None:
        return self.root.children.get(tenant)

    def put_quota(self, path: Path, quota: Quota | None) -> None:
        """Set the quota of a tenant or workspace; None removes it."""
        if quota is None:
            self.quotas.pop(path, None)
        else:
            self.quotas[path] = quota
        if (node := self._node(path)) is not None:
            self.limit(node, quota or NO_QUOTA)

    def put_spending(self, spending: Mapping[Path, BudgetSpending], price_per_slot_hour: float) -> bool:
        """Set the spending of budgets by holder; holders that are not named have no budget. Return True if this
        changes what a holder may start."""
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

    def serve_only(self, tenant: TenantId | None) -> None:
        """Exclude all other tenants; None: exclude no tenant."""
        self._only_tenant = tenant
        for node in self.root.children.values():
            node.is_excluded = self._excludes(node)
            self._spread(node, 0, 0, 0)

    def _excludes(self, tenant: ShareNode) -> bool:
        return self._only_tenant is not None and tenant.path[0] != self._only_tenant

    @property
    def unaffordable(self) -> SlotCount:
        """Slots that are waited for and for which no machine is added, because a budget does not allow it."""
        return sum(node.unaffordable for path in self.spending if (node := self._node(path)) is not None)

    def limit(self, node: ShareNode, quota: Quota) -> None:
        """Set the quota of a node and update what it could use."""
        node.limit(quota)
        self._spread(node, 0, 0, 0)

    def change(self, leaf: ShareNode, held: SlotCount = 0, runs: int = 0, asked: SlotCount = 0) -> None:
        """Add to the slots and runs of an experiment, and to the slots that it waits for."""
        if self._gathered is not None:
            before = self._gathered.get(leaf, (0, 0, 0))
            self._gathered[leaf] = (before[0] + held, before[1] + runs, before[2] + asked)
            return
        if self._undo is not None:
            self._undo.append((leaf, held, runs, asked, 0))
        self._spread(leaf, held, runs, asked)

    def leave(self, leaf: ShareNode, slots: SlotCount) -> None:
        """Add to the slots that runs are giving up."""
        if self._undo is not None:
            self._undo.append((leaf, 0, 0, 0, slots))
        node = leaf
        while node.parent is not None:
            node.leaving += slots
            node = node.parent

    def prune(self, leaf: ShareNode) -> None:
        """Drop holders that hold and wait for nothing. Deferred charges are checked when they are counted."""
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
        """Undo at the end what was charged inside."""
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
        """Defer charges from now on. Sums are correct again after `settle`."""
        self._gathered = {}

    def settle(self) -> None:
        """Count the deferred charges."""
        gathered, self._gathered = self._gathered or {}, None
        for leaf, change in gathered.items():
            if any(change):
                self._spread(leaf, *change)
            self.prune(leaf)

    def _node(self, path: Path) -> ShareNode | None:
        node: ShareNode | None = self.root
        for step in path:
            node = node.children.get(step) if node else None
        return node

    def _budget(self, node: ShareNode) -> None:
        """Update what the holder's budget allows."""
        one = self.spending.get(node.path)
        node.is_spent = one is not None and one.is_over
        node.affordable_slots = (
            NEVER if one is None else node.held + one.affordable_slots(self._price_per_slot_hour)
        )

    def _spread(self, leaf: ShareNode, held: SlotCount, runs: int, asked: SlotCount) -> None:
        node: ShareNode | None = leaf
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
