"""Time slicing: a run that has had its slots for a quantum yields to a waiting request of the same rank (a peer).

A run that has saved nothing since it started, or whose trial has ignored the signal before, keeps its slots
(`running_allocations.is_time_sliced`).

Unlike the relation in `rights` this one is not strict: two experiments may preempt each other indefinitely,
each once per quantum. It agrees with the queue order, so that the released slots go to the request that asked
for them and not back to the run that gave them up.

- `fifo`: all requests are peers. `priority`: those of one priority are (and a less important run yields too).
  An experiment preempts others that afterwards still hold at least as much as it does now, so one that holds
  nothing may preempt any peer.
- `fair_share`: an experiment preempts if it still has the lower usage afterwards, compared at the level where
  the two diverge. Among experiments of the same user it preempts less important ones regardless of usage, and
  never more important ones.
"""

from dataclasses import dataclass

from services.scheduler.core.planning.usage_rank import UsageRank
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.slots import SlotCount


@dataclass(frozen=True, slots=True)
class Peers:
    """The peers that a request of this experiment may preempt once their time slice is over. `served`: under
    fair share."""

    leaf: ShareNode
    is_ranked: bool
    served: UsageRank | None

    @property
    def floor(self) -> int | None:
        """The lowest priority number of runs to preempt; None: all."""
        return self.leaf.priority if self.is_ranked else None

    def includes(self, victim: ShareNode, slots: SlotCount) -> bool:
        """Whether runs of `victim` with `slots` slots in total should yield."""
        if self.is_ranked and victim.priority != self.leaf.priority:
            return victim.priority > self.leaf.priority
        if self.served is None:
            return victim is not self.leaf and self.leaf.held <= victim.held_after_leaving - slots
        mine, theirs = diverging_nodes(self.leaf, victim)
        if mine is theirs:
            return False
        after = self.served.rank(theirs, theirs.held_after_leaving - slots)
        return self.served.rank(mine, mine.held) < after

    def may_include(self, tenant: ShareNode) -> bool:
        """Whether any run of another tenant could be a peer, however few slots it has."""
        if self.served is None:
            return True
        mine = self.leaf.tenant
        return self.served.rank(mine, mine.held) < self.served.rank(tenant, tenant.held_after_leaving)

    def are_one(self, one: ShareNode, other: ShareNode) -> bool:
        """Whether the losses of both are added up."""
        if self.served is None:
            return one is other
        return diverging_nodes(self.leaf, one)[1] is diverging_nodes(self.leaf, other)[1]


def diverging_nodes(one: ShareNode, other: ShareNode) -> tuple[ShareNode, ShareNode]:
    """Return the holders of two experiments at the level where they diverge; if they never do, the experiments."""
    if one.tenant is not other.tenant:
        return one.tenant, other.tenant
    if one.workspace is not other.workspace:
        return one.workspace, other.workspace
    if one.parent is not None and other.parent is not None and one.parent is not other.parent:
        return one.parent, other.parent
    return one, other
