"""Inputs of sizing: demand, machines, holds and budgets of a pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.instances.refusals import LaunchBackoff
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.planning.shortage import Shortage
from shared.ids import WorkerId
from shared.messages.trial_specs import SlotKind


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand of a pool in slots; updated when it changes.

    Attributes:
        waiting: Slots that could be used beyond the existing ones.
        soon: Slots that may be needed soon.
        largest: The most slots that a waiting request needs on one machine.
        sizes: Waiting single-node requests, as (slots, number).
        unaffordable: Waiting slots excluded from all of these, because budgets of tenants or workspaces do not cover
            them.
    """

    waiting: int = 0
    idle: int = 0
    soon: int = 0
    kind: SlotKind | None = None
    received_at: datetime | None = None
    largest: int = 0
    sizes: tuple[tuple[int, int], ...] = ()
    unaffordable: int = 0

    @property
    def unaffordable_message(self) -> str | None:
        """The message about waiting slots without a budget. It does not name the budget, because not every user may know it."""
        if not self.unaffordable:
            return None
        slots = "1 waiting slot" if self.unaffordable == 1 else f"{self.unaffordable} waiting slots"
        return f"no machine is rented for {slots}: the monthly budget of a tenant or workspace does not cover an hour"

    @property
    def single_node(self) -> tuple[tuple[int, int], ...]:
        """Single-node requests by size. Schedulers that do not send sizes send only the largest."""
        return self.sizes or (((self.largest, 1),) if self.largest else ())


@dataclass(frozen=True, slots=True)
class MonthlyBudget:
    """A budget of this month and what was spent of it; `label` names it."""

    label: str
    limit: float
    spent: float


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """State of a pool, for sizing.

    Attributes:
        live: Machines, oldest first.
        idle_since: When each idle worker became idle.
        loads: Usage of each worker; None if not sampled in this pass.
        wasted: Accumulated excess cost of each machine.
    """

    demand: Demand
    live: Sequence[Instance]
    idle_since: Mapping[WorkerId, datetime] = field(default_factory=dict)
    holds: Sequence[LaunchBackoff] = ()
    budgets: Sequence[MonthlyBudget] = ()
    loads: Mapping[WorkerId, WorkerLoad] | None = None
    wasted: Mapping[WorkerId, float] = field(default_factory=dict)
    shortage: Shortage = field(default_factory=Shortage)
