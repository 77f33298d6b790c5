"""The event that teaches the scheduler how an elastic trial trains."""

from typing import TYPE_CHECKING

from services.scheduler.core.elastic.goodput import Limits, Noise
from services.scheduler.core.elastic.history import History
from services.scheduler.core.elastic.throughput import Timing
from shared.ids import TrialId

if TYPE_CHECKING:
    from services.scheduler.core.cluster import Cluster


def on_reported(cluster: "Cluster", trial_id: TrialId, limits: Limits, timing: Timing, noise: Noise) -> None:
    """A run has measured its steps and its gradient. It counts from the next plan on; of others than elastic runs nothing is kept."""
    trial = cluster.trials.get(trial_id)
    if trial is None:
        return
    record = cluster.pools[cluster.pool_of(trial)].elastic.of.get(trial_id)
    if record is None:
        return
    if record.history is None or record.history.limits != limits:
        record.history = History(limits)
    record.history.add(timing, noise)
