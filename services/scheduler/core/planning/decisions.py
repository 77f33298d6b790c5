"""The decisions of a plan about single trials and runs, and the demand of a pool."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from services.scheduler.core.planning.quotas import Limit
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.records.preemption_notice import PreemptionCause
from shared.ids import PoolName, RunId, TrialId
from shared.messages.trial_specs import SlotKind

WaitReason = Literal["slots", "preempting", "beyond_pool", "uploads", "back_off"] | Limit
"""Why a request was not served; `wait_reasons` explains it."""


class Grant(NamedTuple):
    """Create a run of this trial on these workers."""

    trial: TrialId
    pool: PoolName
    placement: Placement


class Preempt(NamedTuple):
    """Ask this run for its slots, for a waiting trial (None: for no particular trial)."""

    run: RunId
    for_trial: TrialId | None
    because: PreemptionCause


@dataclass(frozen=True, slots=True)
class Demand:
    """Slots that a pool could use beyond its machines once the plan is carried out.

    Attributes:
        soon: For requests that only wait for uploads.
        expected: Slots that may be idle once all preempted runs have left and the provider has added what it can.
        price_per_slot_hour: None if unknown.
        single_node: Size and number of the requests that need one machine, largest first.
        unaffordable: Slots that are not requested because budgets of tenants or workspaces do not allow it.
    """

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
