"""Which shapes of request may still be served in a plan under way: what cannot is passed over without a look at each line."""

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
from shared.messages.specs import Thousandths

ALL = -1
SLICE_SEARCHES, FAILED_SLICE_SEARCHES = 16, 8
"""So many requests of a plan may look for a run whose turn is over, and so many in vain. Those behind them have their look in the next plan;
after so many in vain, in the next step."""
ANY_TENANT = PlacementRequest(TenantId(UUID(int=0)), None, single_node=False)
"""What a tenant without machines of its own would ask."""


class Feasibility:
    """Masks of shapes (`Line.bit`). Neighbour: `order` asks for them while it looks for the next line."""

    def __init__(self, pool: Pool, head: QueueHead, kept: ReservedSlots, now_ms: int) -> None:
        self._pool, self._head, self._kept = pool, head, kept
        # Looked for a few at a time, and in vain once in a step: with many runs it costs more than the rest of a plan.
        is_step = pool.policy.quantum is not None and pool.turned_step != now_ms // STEP_MS
        self._may_turn = is_step and pool.standing.is_over(now_ms)
        self._turns, self._vain_turns = SLICE_SEARCHES, FAILED_SLICE_SEARCHES
        self._decided = 0
        self._known: dict[object, tuple[int, int]] = {}
        self._vain: dict[object, int] = {}
        self._worst: int | None = None
        waiting, shapes = pool.shares.root.mask, pool.queue.shapes.items()
        self._anywhere: dict[tuple[int, int], int] = {}
        self._smaller: dict[SlotCount, int] = {}
        self._choosy = [(needs, bit) for needs, bit in shapes if needs.where is not None and waiting & bit]

    def decide(self) -> None:
        """Something was granted, kept or asked for: what was found before may have changed."""
        self._decided += 1

    def is_vain(self, line: RequestGroup) -> bool:
        """Whether this tenant has asked others for such a shape in vain already."""
        return bool(self._vain.get(line.leaf.path[0], 0) & line.bit)

    @property
    def are_turns_over(self) -> bool:
        """Whether it is worth looking for runs whose turn is over."""
        return self._may_turn and self._turns > 0 and self._vain_turns > 0

    @property
    def are_turns_left(self) -> bool:
        """Whether the next plan should go on looking for them."""
        return self._may_turn and self._turns == 0 and self._vain_turns > 0

    def look(self, rights: PreemptionRights) -> None:
        """Somebody is looked for who could be asked."""
        self._decided += 1
        self._turns -= rights.equals is not None

    def give_up(self, line: RequestGroup, rights: PreemptionRights) -> None:
        """Nobody could be asked. Where a guarantee gave the right, nobody can be for such a shape by this tenant; equals differ."""
        if rights.equals is not None:
            self._vain_turns -= 1
        if rights.equals is not None or rights.priority is not None:
            return
        tenant = line.leaf.path[0]
        self._vain[tenant] = self._vain.get(tenant, 0) | line.bit

    def of(self, asking: ShareNode | RequestGroup) -> int:
        """Before a head is found everything is looked at; then what may fit, or may ask."""
        if self._head.priority is None or self._head.is_lendable or self.are_turns_over:
            return ALL
        leaf = asking.leaf if isinstance(asking, RequestGroup) else asking
        if self._kept.concerns(leaf.tenant):
            return ALL
        if isinstance(asking, RequestGroup) and leaf.priority < self._worst_priority():
            return ALL
        # What was found for a tenant is good as long as nothing was decided since.
        tenant = leaf.tenant.path[0]
        version, mask = self._known.get(tenant, (-1, 0))
        if version != self._decided:
            mask = self._fitting(tenant) | self._claims(leaf.tenant)
            self._known[tenant] = (self._decided, mask)
        return mask

    def _fitting(self, tenant: object) -> int:
        """Shapes that may fit for this tenant."""
        capacity = self._pool.capacity
        ask = PlacementRequest(tenant, None, False)  # type: ignore[arg-type]
        joining = self._joining(capacity.sharing.largest(ask.tenant)) if capacity.sharing else 0
        if capacity.exclusive and capacity.owned_free(ask.tenant):
            return joining | self._within(ask)
        # All tenants that have no machine with room are in the same case.
        version, mask = self._known.get(None, (-1, 0))
        if version != self._decided:
            mask = self._within(ANY_TENANT)
            self._known[None] = (self._decided, mask)
        return joining | mask

    def _joining(self, left: Thousandths) -> int:
        """Shapes that could join a slot of which so much is left."""
        mask = 0
        for needs, bit in self._pool.queue.shapes.items():
            if 0 < needs.part <= left:
                mask |= bit
        return mask

    def _within(self, ask: PlacementRequest) -> int:
        gang, single = self._room(ask)
        mask = self._anywhere.get((gang, single))
        if mask is None:
            shapes = self._pool.queue.shapes.items()
            fitting = [bit for needs, bit in shapes if needs.min_slots <= _most(needs, gang, single)]
            mask = self._anywhere[gang, single] = sum(fitting)
        for needs, bit in self._choosy:
            if mask & bit and needs.min_slots > _most(needs, *self._room(ask_of(ask.tenant, needs))):
                mask &= ~bit
        return mask

    def _room(self, ask: PlacementRequest) -> tuple[int, int]:
        """Slots free for a gang, and on one machine."""
        free, largest = self._pool.capacity.room_for(ask)
        return (free if self._pool.capacity.exclusive else largest), largest

    def _claims(self, tenant: ShareNode) -> int:
        """Shapes that this tenant may ask others for."""
        claim = claim_of(self._pool.policy, tenant) if self._pool.later is not None else 0
        if not claim:
            return 0
        if claim not in self._smaller:
            self._smaller[claim] = self._pool.queue.smaller(claim)
        return self._smaller[claim] & ~self._vain.get(tenant.path[0], 0)

    def _worst_priority(self) -> int:
        if self._worst is None:
            is_ranked = self._pool.policy.order == "priority" and self._pool.later is not None
            self._worst = self._pool.standing.worst() if is_ranked else 0
        return self._worst


def _most(needs: SlotNeeds, gang: int, single: int) -> int:
    """Slots that such a request could be given, of so many for a gang and so many on one machine."""
    return single if needs.single_node else gang
