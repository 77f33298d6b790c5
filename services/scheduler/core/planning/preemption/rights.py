"""Who may ask whom for slots. The relation is strict, so that a run that was asked to go can never ask back:

- A request that its holder's guarantee covers takes what others borrow: never so much that they fall below their own guarantee.
  What it gets is covered and so not borrowed; what they lost was, so their next request is not covered. Covered requests go
  before all others (`order`): otherwise what was given back would go to whoever gave it, for ever.
- In the order `priority`, a request also takes from runs of a higher priority number, within the same bound.
With a quantum, equals ask each other too, once a turn is over (`equals`); the bounds are the same. Nobody falls below what he has booked for
the time being, either: it would be kept for him, and whoever asked would not get it.
Holders are compared where their ways part: tenants, or workspaces of one tenant. `fifo` asks nobody.
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
    """What one request may ask for. `priority`: runs above this number; None: rank gives it no right. `equals`: whose turn is over;
    `booked`: slots that are their holders' alone now."""

    leaf: ShareNode
    priority: int | None
    is_covered_as_tenant: bool
    is_covered_as_workspace: bool
    equals: Peers | None = None
    booked: Mapping[Path, int] = field(default_factory=dict)

    @property
    def are_at_any_time(self) -> bool:
        """Whether it may ask runs whose turn is not over."""
        return self.priority is not None or self.is_covered_as_tenant or self.is_covered_as_workspace

    @property
    def any(self) -> bool:
        return self.are_at_any_time or self.equals is not None

    def reach(self, victim: ShareNode, slots: SlotCount) -> bool:
        """Whether runs of `victim` with so many slots in all may be asked to go."""
        is_lower = self.priority is not None and victim.priority > self.priority
        if not self._spares(victim, slots):
            return False
        if self.leaf.workspace is victim.workspace:
            return is_lower
        if self.leaf.tenant is victim.tenant:
            return is_lower or self.is_covered_as_workspace
        return is_lower or self.is_covered_as_tenant

    def reach_equal(self, victim: ShareNode, slots: SlotCount, slots_of_one: SlotCount) -> bool:
        """Whether runs of `victim` whose turn is over may be asked. `slots_of_one`: of these, what counts against the one that
        they are compared as."""
        if self.equals is None or not self._spares(victim, slots):
            return False
        return self.equals.includes(victim, slots_of_one)

    def may_yield(self, tenant: ShareNode) -> bool:
        """Whether any run of this tenant could be one that `reach_equal` allows, however little it holds."""
        if self.equals is None or tenant is self.leaf.tenant:
            return self.equals is not None
        is_beyond = tenant.quota.guaranteed == 0 or tenant.staying > tenant.quota.guaranteed
        return is_beyond and self.equals.may_include(tenant)

    def _spares(self, victim: ShareNode, slots: SlotCount) -> bool:
        """Whether nobody else falls below a guarantee, or what he has booked."""
        if self.leaf.workspace is victim.workspace:
            return True
        if not self._can_lose(victim.workspace, slots):
            return False
        return self.leaf.tenant is victim.tenant or self._can_lose(victim.tenant, slots)

    def _can_lose(self, node: ShareNode, slots: SlotCount) -> bool:
        floor = max(node.quota.guaranteed, self.booked.get(node.path, 0))
        return floor == 0 or node.staying - slots >= floor

    def cause(self, victim: ShareNode) -> PreemptionCause:
        """By which right runs of `victim` may be asked at any time, given that they may."""
        if self.priority is not None and victim.priority > self.priority:
            return "priority"
        return "workspace_guarantee" if self.leaf.tenant is victim.tenant else "tenant_guarantee"


def is_covered(policy: PoolPolicy, leaf: ShareNode, slots: SlotCount) -> bool:
    """Whether a guarantee that this pool gives back on demand covers a request of this experiment for so many slots."""
    return _gives_back(policy) and (_covers(leaf.tenant, slots) or _covers(leaf.workspace, slots))


def rights_of(
    pool: Pool, leaf: ShareNode, slots: SlotCount, booked: Mapping[Path, int], turns_ms: int | None = None
) -> PreemptionRights:
    """What a request of this experiment for so many slots may ask for. `turns_ms`: now, where turns that are over count."""
    policy = pool.policy
    is_ranked = policy.preemption and policy.order == "priority"
    covers = _gives_back(policy)
    return PreemptionRights(
        leaf=leaf,
        priority=leaf.priority if is_ranked else None,
        is_covered_as_tenant=covers and _covers(leaf.tenant, slots),
        is_covered_as_workspace=covers and _covers(leaf.workspace, slots),
        equals=None if turns_ms is None else _equals_of(pool, leaf, turns_ms),
        booked=booked,
    )


def claim_of(policy: PoolPolicy, tenant: ShareNode) -> SlotCount:
    """The most slots that a guarantee of this tenant, or of one of its workspaces, still covers."""
    if not _gives_back(policy):
        return 0
    claims = [
        child.quota.guaranteed - child.staying for child in tenant.children.values() if child.quota.guaranteed
    ]
    return max(0, tenant.quota.guaranteed - tenant.staying, *claims)


def _equals_of(pool: Pool, leaf: ShareNode, now_ms: int) -> Peers:
    history = pool.shares.history
    return Peers(leaf, pool.policy.order == "priority", UsageRank(history, now_ms) if history else None)


def _gives_back(policy: PoolPolicy) -> bool:
    return policy.preemption and policy.order != "fifo"


def _covers(node: ShareNode, slots: SlotCount) -> bool:
    return node.staying + slots <= node.quota.guaranteed
