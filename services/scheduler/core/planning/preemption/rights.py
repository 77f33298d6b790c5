"""Preemption rights: which requests may preempt which runs. The relation is strict, so that a preempted run can
never preempt back:

- A request covered by its holder's guarantee takes borrowed slots of others, never so many that they fall below
  their own guarantee. The slots that it gets are covered and therefore not borrowed. The slots that the others
  lost were borrowed, so their next request is not covered. Holders below their guarantee go before all others
  (`order`); otherwise the released slots would return to the run that released them.
- In the order `priority`, a request also preempts runs with a higher priority number, within the same bound.

Slots that the same plan grants to a holder count toward its guarantee. Slots that are only withheld for it until
other runs have left do not: a later plan may give them to another holder.

With a quantum, peers preempt each other too, once a time slice is over (`peers`), within the same bounds. No
holder falls below its current reservation either: the slots would be withheld for it, and the preempting
request would not get them. Holders are compared where they diverge: tenants, or workspaces of one tenant.
`fifo` preempts only with a quantum.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.scheduler.core.planning.preemption.time_slicing import Peers
from services.scheduler.core.planning.usage_rank import UsageRank
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.pool import Path, PoolPolicy
from services.scheduler.core.state.records.preemption_notice import PreemptionCause
from services.scheduler.core.state.records.slots import SlotCount


@dataclass(frozen=True, slots=True)
class PreemptionRights:
    """The runs that one request may preempt.

    Attributes:
        priority: Runs above this number; None: rank gives no right.
        equals: Peers whose time slice is over.
        booked: Slots that are reserved now, by holder.
        withheld: Slots that the plan charges to a holder for requests that wait for other runs to leave.
    """

    leaf: ShareNode
    priority: int | None
    is_covered_as_tenant: bool
    is_covered_as_workspace: bool
    peers: Peers | None = None
    booked: Mapping[Path, int] = field(default_factory=dict)
    withheld: Mapping[Path, SlotCount] = field(default_factory=dict)

    @property
    def are_at_any_time(self) -> bool:
        """Whether it may preempt runs whose time slice is not over."""
        return self.priority is not None or self.is_covered_as_tenant or self.is_covered_as_workspace

    @property
    def any(self) -> bool:
        return self.are_at_any_time or self.peers is not None

    def reach(self, victim: ShareNode, slots: SlotCount) -> bool:
        """Whether runs of `victim` with `slots` slots in total may be preempted."""
        is_lower = self.priority is not None and victim.priority > self.priority
        if not self._spares(victim, slots):
            return False
        if self.leaf.workspace is victim.workspace:
            return is_lower
        if self.leaf.tenant is victim.tenant:
            return is_lower or self.is_covered_as_workspace
        return is_lower or self.is_covered_as_tenant

    def reach_equal(self, victim: ShareNode, slots: SlotCount, slots_of_one: SlotCount) -> bool:
        """Whether runs of `victim` whose time slice is over may be preempted. `slots_of_one`: the slots that
        count against the holder they are compared as."""
        if self.peers is None or not self._spares(victim, slots):
            return False
        return self.peers.includes(victim, slots_of_one)

    def may_yield(self, tenant: ShareNode) -> bool:
        """Whether `reach_equal` could allow any run of this tenant, however few slots it has."""
        if self.peers is None or tenant is self.leaf.tenant:
            return self.peers is not None
        is_beyond = tenant.quota.guaranteed == 0 or tenant.held_after_leaving > tenant.quota.guaranteed
        return is_beyond and self.peers.may_include(tenant)

    def _spares(self, victim: ShareNode, slots: SlotCount) -> bool:
        """Whether no other holder falls below its guarantee or reservation."""
        if self.leaf.workspace is victim.workspace:
            return True
        if not self._can_lose(victim.workspace, slots):
            return False
        return self.leaf.tenant is victim.tenant or self._can_lose(victim.tenant, slots)

    def _can_lose(self, node: ShareNode, slots: SlotCount) -> bool:
        floor = max(node.quota.guaranteed, self.booked.get(node.path, 0))
        return floor == 0 or node.held_after_leaving - self.withheld.get(node.path, 0) - slots >= floor

    def cause(self, victim: ShareNode) -> PreemptionCause:
        """Return the right by which runs of `victim` may be preempted at any time, given that they may."""
        if self.priority is not None and victim.priority > self.priority:
            return "priority"
        return "workspace_guarantee" if self.leaf.tenant is victim.tenant else "tenant_guarantee"


def is_covered(policy: PoolPolicy, leaf: ShareNode, slots: SlotCount) -> bool:
    """Whether a guarantee that this pool enforces covers a request of this experiment for this many slots."""
    return _gives_back(policy) and (_covers(leaf.tenant, slots) or _covers(leaf.workspace, slots))


def rights_of(
    pool: Pool,
    leaf: ShareNode,
    slots: SlotCount,
    booked: Mapping[Path, int],
    withheld: Mapping[Path, SlotCount],
    slices_over_ms: int | None = None,
) -> PreemptionRights:
    """Return the rights of a request of this experiment for this many slots. `slices_over_ms`: the current time, if
    expired time slices count."""
    policy = pool.policy
    is_ranked = policy.preemption and policy.order == "priority"
    covers = _gives_back(policy)
    return PreemptionRights(
        leaf=leaf,
        priority=leaf.priority if is_ranked else None,
        is_covered_as_tenant=covers and _covers(leaf.tenant, slots),
        is_covered_as_workspace=covers and _covers(leaf.workspace, slots),
        peers=None if slices_over_ms is None else _equals_of(pool, leaf, slices_over_ms),
        booked=booked,
        withheld=withheld,
    )


def claim_of(policy: PoolPolicy, tenant: ShareNode) -> SlotCount:
    """Return the most slots that a guarantee of this tenant, or of one of its workspaces, still covers."""
    if not _gives_back(policy):
        return 0
    claims = [
        child.quota.guaranteed - child.held_after_leaving
        for child in tenant.children.values()
        if child.quota.guaranteed
    ]
    return max(0, tenant.quota.guaranteed - tenant.held_after_leaving, *claims)


def _equals_of(pool: Pool, leaf: ShareNode, now_ms: int) -> Peers:
    history = pool.shares.history
    return Peers(leaf, pool.policy.order == "priority", UsageRank(history, now_ms) if history else None)


def _gives_back(policy: PoolPolicy) -> bool:
    return policy.preemption and policy.order != "fifo"


def _covers(node: ShareNode, slots: SlotCount) -> bool:
    return node.held_after_leaving + slots <= node.quota.guaranteed
