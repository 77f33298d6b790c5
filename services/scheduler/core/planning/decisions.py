"""What a plan decides of single trials and runs, and what it finds missing."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from services.scheduler.core.planning.quotas import Limit
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.records.preemption_notice import PreemptionCause
from shared.ids import PoolName, RunId, TrialId
from shared.messages.specs import SlotKind

WaitReason = Literal["slots", "preempting", "beyond_pool", "uploads", "back_off"] | Limit
"""Why a request was passed by; `refusals` puts it in words."""


class Grant(NamedTuple):
    """Make a run of this trial on these workers."""

    trial: TrialId
    pool: PoolName
    placement: Placement


class Preempt(NamedTuple):
    """Ask this run for its slots, on behalf of a waiting trial (None: of nobody in particular)."""

    run: RunId
    for_trial: TrialId | None
    because: PreemptionCause


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pool could use beyond what stands, once the plan is carried out. Slots; `soon`: waits for uploads only; `expected`: may be
    idle when all has left that was asked to, and the provider has brought what it can. `price_per_slot_hour`: None where not known.
    `single_node`: how many requests wait for so many slots on one machine, by size, the largest first. `unaffordable`: what is not asked for,
    since budgets of tenants or workspaces do not bear it."""

    waiting: int
    used: int
    idle: int
    largest_single_node: int
    soon: int
    kind: SlotKind | None
    expected: int = 0
    price_per_slot_hour: float | None = None
    single_node: tuple[tuple[int, int], ...] = ()
    unaffordable: int = 0
