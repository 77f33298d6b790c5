"""What has changed since the last turn took it: what must be saved, told and sent."""

from dataclasses import dataclass, field

from services.scheduler.core.state.facts import Fact
from services.scheduler.core.state.indexes.usage_ledger import SlotUsage
from shared.ids import PoolName, RunId, TrialId, WorkerId


@dataclass(slots=True)
class Unsaved:
    """`pools`: those in which anything is to be planned anew; `holders`: workers that hold other slots than before. `lazy_…` may be saved
    with whatever is saved next: heartbeats and stored wishes tell it again."""

    facts: list[Fact] = field(default_factory=list)
    trials: dict[TrialId, None] = field(default_factory=dict)
    runs: dict[RunId, None] = field(default_factory=dict)
    workers: dict[WorkerId, None] = field(default_factory=dict)
    desired: dict[WorkerId, None] = field(default_factory=dict)
    pools: dict[PoolName, None] = field(default_factory=dict)
    holders: dict[WorkerId, None] = field(default_factory=dict)
    holdings: list[SlotUsage] = field(default_factory=list)
    lazy_trials: dict[TrialId, None] = field(default_factory=dict)
    lazy_runs: dict[RunId, None] = field(default_factory=dict)
