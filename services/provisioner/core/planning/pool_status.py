"""What sizing looks at: what is asked of a pool, what stands, what is held back, and money."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from services.provisioner.core.instances.instance import Instance
from services.provisioner.core.instances.refusals import LaunchBackoff
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.planning.shortage import Shortage
from shared.ids import WorkerId
from shared.messages.specs import SlotKind


@dataclass(frozen=True, slots=True)
class Demand:
    """Slots that could be used beyond what stands (`waiting`), or may be soon; `largest`: of what waits, the most slots that must be on one
    machine; `sizes`: how many requests of each size must. `unaffordable`: slots that wait and are in none of these, since budgets of tenants or
    workspaces do not bear them. Told when something changes."""

    waiting: int = 0
    idle: int = 0
    soon: int = 0
    kind: SlotKind | None = None
    heard_at: datetime | None = None
    largest: int = 0
    sizes: tuple[tuple[int, int], ...] = ()
    unaffordable: int = 0

    @property
    def refused(self) -> str | None:
        """What is not asked for although it waits, as the pool shows it: whose budgets these are is not everybody's to know."""
        if not self.unaffordable:
            return None
        slots = "1 slot that waits" if self.unaffordable == 1 else f"{self.unaffordable} slots that wait"
        return f"no machine is rented for {slots}: a tenant's or workspace's budget of this month does not bear it for an hour"

    @property
    def pieces(self) -> tuple[tuple[int, int], ...]:
        """By size. Of whoever does not tell them, the largest is known."""
        return self.sizes or (((self.largest, 1),) if self.largest else ())


@dataclass(frozen=True, slots=True)
class MonthlyBudget:
    """Money of this month: what may be spent, and what was; `words` says whose it is."""

    words: str
    limit: float
    spent: float


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """What sizing looks at: a pool's demand and machines, oldest first, since when workers are idle, what is held back, money, what runs on
    each (None: it was not asked in this pass) and what each has cost too much."""

    demand: Demand
    live: Sequence[Instance]
    idle_since: Mapping[WorkerId, datetime] = field(default_factory=dict)
    holds: Sequence[LaunchBackoff] = ()
    budgets: Sequence[MonthlyBudget] = ()
    loads: Mapping[WorkerId, WorkerLoad] | None = None
    wasted: Mapping[WorkerId, float] = field(default_factory=dict)
    lack: Shortage = field(default_factory=Shortage)
