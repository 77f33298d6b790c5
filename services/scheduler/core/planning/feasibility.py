"""Feasibility: which request shapes can still be served in the current plan. Infeasible shapes are skipped
without examining each request group."""

from uuid import UUID

from services.scheduler.core.planning.backfill import QueueHead
from services.scheduler.core.planning.preemption.rights import PreemptionRights, claim_of
from services.scheduler.core.planning.reserved_slots import ReservedSlots
from services.scheduler.core.state.indexes.decay import STEP_MS
from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import ask_of
from services.scheduler.core.state.indexes.share_tree import RequestGroup, ShareNode
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import TenantId
from shared.messages.trial_specs import Thousandths

ALL = -1
SLICE_SEARCHES, FAILED_SLICE_SEARCHES = 16, 8
"""Limits per plan: how many requests may search for a run with an expired time slice, and how many of them
without success. Later requests search in the next plan; after the limit of failures, in the next step."""
ANY_TENANT = PlacementRequest(TenantId(UUID(int=0)), None, single_node=False)
"""The request of a tenant without machines of its own."""


class Feasibility:
    """Masks of feasible shapes (`Line.bit`). `order` queries them while it looks for the next request group."""

    def __init__(self, pool: Pool, head: QueueHead, reserved_slots: ReservedSlots, now_ms: int) -> None:
        self._pool, self._head, self._reserved_slots = pool, head, reserved_slots
        # The search is limited: with many runs it costs more than the rest of a plan.
        is_step = pool.policy.quantum is not None and pool.time_slice_step != now_ms // STEP_MS
        self._may_search = is_step and pool.running_allocations.is_over(now_ms)
        self._searches_left, self._failed_searches_left = SLICE_SEARCHES, FAILED_SLICE_SEARCHES
        self._decided = 0
        self._known: dict[object, tuple[int, int]] = {}
        self._infeasible: dict[object, int] = {}
        self._worst: int | None = None
        waiting, shapes = pool.shares.root.mask, pool.queue.shapes.items()
        self._anywhere: dict[tuple[int, int], int] = {}
        self._smaller: dict[SlotCount, int] = {}
        self._constrained = [
            (needs, bit) for needs, bit in shapes if needs.where is not None and waiting & bit
        ]

    def decide(self) -> None:
        """Invalidate cached masks after a grant, a reservation or a preemption."""
        self._decided += 1

    def is_infeasible(self, line: RequestGroup) -> bool:
        """Whether this tenant has already tried to preempt for such a shape without success."""
        return bool(self._infeasible.get(line.leaf.path[0], 0) & line.bit)

    @property
    def may_preempt_expired(self) -> bool:
        """Whether to search for runs with an expired time slice."""
        return self._may_search and self._searches_left > 0 and self._failed_searches_left > 0

    @property
    def has_more_expired(self) -> bool:
        """Whether the next plan should continue the search."""
        return self._may_search and self._searches_left == 0 and self._failed_searches_left > 0

    def look(self, rights: PreemptionRights) -> None:
        """Count a search for runs to preempt."""
        self._decided += 1
        self._searches_left -= rights.peers is not None

    def give_up(self, line: RequestGroup, rights: PreemptionRights) -> None:
        """Note that a search found no run. If a guarantee gave the right, no run can be preempted for this
        tenant and shape; among peers it may differ between requests."""
        if rights.peers is not None:
            self._failed_searches_left -= 1
        if rights.peers is not None or rights.priority is not None:
            return
        tenant = line.leaf.path[0]
        self._infeasible[tenant] = self._infeasible.get(tenant, 0) | line.bit

    def of(self, asking: ShareNode | RequestGroup) -> int:
        """Return the feasible shapes: before the queue has a head all of them, afterwards those that may fit or
        may preempt."""
        if self._head.priority is None or self._head.is_reclaimable or self.may_preempt_expired:
            return ALL
        leaf = asking.leaf if isinstance(asking, RequestGroup) else asking
        if self._reserved_slots.concerns(leaf.tenant):
            return ALL
        if isinstance(asking, RequestGroup) and leaf.priority < self._worst_priority():
            return ALL
        # A tenant's mask is valid until the next decision.
        tenant = leaf.tenant.path[0]
        version, mask = self._known.get(tenant, (-1, 0))
        if version != self._decided:
            mask = self._fitting(tenant) | self._claims(leaf.tenant)
            self._known[tenant] = (self._decided, mask)
        return mask

    def _fitting(self, tenant: object) -> int:
        """Return the shapes that may fit for this tenant."""
        capacity = self._pool.capacity
        ask = PlacementRequest(tenant, None, False)  # type: ignore[arg-type]
        joining = self._joining(capacity.sharing.largest(ask.tenant)) if capacity.sharing else 0
        if capacity.exclusive and capacity.owned_free(ask.tenant):
            return joining | self._within(ask)
        # The same for all tenants without free slots on their own machines.
        version, mask = self._known.get(None, (-1, 0))
        if version != self._decided:
            mask = self._within(ANY_TENANT)
            self._known[None] = (self._decided, mask)
        return joining | mask

    def _joining(self, left: Thousandths) -> int:
        """Return the shapes that fit into a shared slot with this much left."""
        mask = 0
        for needs, bit in self._pool.queue.shapes.items():
            if 0 < needs.fraction <= left:
                mask |= bit
        return mask

    def _within(self, ask: PlacementRequest) -> int:
        gang, single = self._room(ask)
        mask = self._anywhere.get((gang, single))
        if mask is None:
            shapes = self._pool.queue.shapes.items()
            fitting = [bit for needs, bit in shapes if needs.min_slots <= _most(needs, gang, single)]
            mask = self._anywhere[gang, single] = sum(fitting)
        for needs, bit in self._constrained:
            if mask & bit and needs.min_slots > _most(needs, *self._room(ask_of(ask.tenant, needs))):
                mask &= ~bit
        return mask

    def _room(self, ask: PlacementRequest) -> tuple[int, int]:
        """Return the slots free for a gang, and on one machine."""
        free, largest = self._pool.capacity.free_and_largest_for(ask)
        return (free if self._pool.capacity.exclusive else largest), largest

    def _claims(self, tenant: ShareNode) -> int:
        """Return the shapes for which this tenant may preempt others."""
        claim = claim_of(self._pool.policy, tenant) if self._pool.later is not None else 0
        if not claim:
            return 0
        if claim not in self._smaller:
            self._smaller[claim] = self._pool.queue.smaller(claim)
        return self._smaller[claim] & ~self._infeasible.get(tenant.path[0], 0)

    def _worst_priority(self) -> int:
        if self._worst is None:
            is_ranked = self._pool.policy.order == "priority" and self._pool.later is not None
            self._worst = self._pool.running_allocations.worst() if is_ranked else 0
        return self._worst


def _most(needs: SlotNeeds, gang: int, single: int) -> int:
    """Return the slots that a request could get, given those free for a gang and on one machine."""
    return single if needs.single_node else gang
