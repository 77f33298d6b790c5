"""Time slicing: a run that has had its slots for a quantum yields to a waiting request of equal right, so that all get their turn.

A run that has saved nothing since it began, or whose trial has ignored the signal before, keeps its slots (`standing.may_take_turns`).

Unlike the relation in `rights` this one is not strict: two may ask each other for ever, each once in a quantum. It agrees with the order:
once the run has gone, the order goes on with who asked, so that what was given up is not taken by whoever gave it.

- Under `fifo` all are equal, under `priority` those of one priority (a less important run yields too): an experiment asks others
  that will still hold at least as much as it does now. One that holds nothing may so ask every equal, whatever its size.
- Under `fair_share` an experiment asks where, at the level at which their ways part, it will still be served less; of the same user's
  experiments it asks less important ones whatever they were served, and more important ones never.
"""

from dataclasses import dataclass

from services.scheduler.core.planning.usage_rank import UsageRank
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.slots import SlotCount


@dataclass(frozen=True, slots=True)
class Peers:
    """Whom a request of this experiment may ask once their turn is over. `served`: under fair share."""

    leaf: ShareNode
    is_ranked: bool
    served: UsageRank | None

    @property
    def floor(self) -> int | None:
        """Only runs of at least this priority number; None: all."""
        return self.leaf.priority if self.is_ranked else None

    def includes(self, victim: ShareNode, slots: SlotCount) -> bool:
        """Whether runs of `victim` with so many slots in all should yield."""
        if self.is_ranked and victim.priority != self.leaf.priority:
            return victim.priority > self.leaf.priority
        if self.served is None:
            return victim is not self.leaf and self.leaf.held <= victim.staying - slots
        mine, theirs = diverging_nodes(self.leaf, victim)
        if mine is theirs:
            return False
        after = self.served.rank(theirs, theirs.staying - slots)
        return self.served.rank(mine, mine.held) < after

    def may_include(self, tenant: ShareNode) -> bool:
        """Whether any run of another tenant could be one, however little it holds."""
        if self.served is None:
            return True
        mine = self.leaf.tenant
        return self.served.rank(mine, mine.held) < self.served.rank(tenant, tenant.staying)

    def are_one(self, one: ShareNode, other: ShareNode) -> bool:
        """Whether what both lose is reckoned together."""
        if self.served is None:
            return one is other
        return diverging_nodes(self.leaf, one)[1] is diverging_nodes(self.leaf, other)[1]


def diverging_nodes(one: ShareNode, other: ShareNode) -> tuple[ShareNode, ShareNode]:
    """The holders of two experiments at the level where their ways part; the experiments themselves where they never do."""
    if one.tenant is not other.tenant:
        return one.tenant, other.tenant
    if one.workspace is not other.workspace:
        return one.workspace, other.workspace
    if one.parent is not None and other.parent is not None and one.parent is not other.parent:
        return one.parent, other.parent
    return one, other
