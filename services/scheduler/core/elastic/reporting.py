"""The events that teach the scheduler how an elastic trial trains."""

from typing import TYPE_CHECKING

from services.scheduler.core.elastic.goodput import Limits, Noise
from services.scheduler.core.elastic.history import History
from services.scheduler.core.elastic.paces import Paces
from services.scheduler.core.elastic.records import Record
from services.scheduler.core.elastic.throughput import Timing
from shared.ids import TrialId

if TYPE_CHECKING:
    from services.scheduler.core.cluster import Cluster
    from services.scheduler.core.run import Run


def on_paced(cluster: "Cluster", run: "Run", step_s: float) -> None:
    """A run whose script says nothing of its batches takes so long for a step. It counts from the next plan on."""
    record = _record_of(cluster, run.trial)
    if record is None or isinstance(record.history, History):
        return
    if record.history is None:
        record.history = Paces()
    record.history.add(int(run.slots), step_s)


def on_reported(cluster: "Cluster", trial_id: TrialId, limits: Limits, timing: Timing, noise: Noise) -> None:
    """A run has measured its steps and its gradient. It counts from the next plan on; of others than elastic runs nothing is kept."""
    record = _record_of(cluster, trial_id)
    if record is None:
        return
    history = record.history
    if not isinstance(history, History) or history.limits != limits:
        history = record.history = History(limits)
    history.add(timing, noise)


def _record_of(cluster: "Cluster", trial_id: TrialId) -> Record | None:
    trial = cluster.trials.get(trial_id)
    return None if trial is None else cluster.pools[cluster.pool_of(trial)].elastic.of.get(trial_id)
