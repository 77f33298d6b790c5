"""Changes since the last cycle that must be saved, published and sent."""

from dataclasses import dataclass, field

from services.scheduler.core.state.indexes.usage_ledger import SlotUsage
from services.scheduler.core.state.published_events import Fact
from shared.ids import PoolName, RunId, TrialId, WorkerId


@dataclass(slots=True)
class Unsaved:
    """The collected changes.

    Attributes:
        pools: Pools that must be planned again.
        holders: Workers whose allocations changed.
        lazy_trials, lazy_runs: Records that may be saved with the next changes: heartbeats and stored requests
            bring them back.
    """

    facts: list[Fact] = field(default_factory=list)
    trials: dict[TrialId, None] = field(default_factory=dict)
    runs: dict[RunId, None] = field(default_factory=dict)
    workers: dict[WorkerId, None] = field(default_factory=dict)
    desired: dict[WorkerId, None] = field(default_factory=dict)
    pools: dict[PoolName, None] = field(default_factory=dict)
    holders: dict[WorkerId, None] = field(default_factory=dict)
    usage_entries: list[SlotUsage] = field(default_factory=list)
    lazy_trials: dict[TrialId, None] = field(default_factory=dict)
    lazy_runs: dict[RunId, None] = field(default_factory=dict)
