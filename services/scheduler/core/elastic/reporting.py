"""The events that teach the scheduler how an elastic trial trains."""

from typing import TYPE_CHECKING

from services.scheduler.core.elastic.goodput import Limits, Noise
from services.scheduler.core.elastic.history import History
from services.scheduler.core.elastic.paces import Paces
from services.scheduler.core.elastic.records import Record
from services.scheduler.core.elastic.throughput import Timing
from shared.ids import TrialId
from shared.messages.allocations import Measured

if TYPE_CHECKING:
    from services.scheduler.core.cluster import Cluster
    from services.scheduler.core.run import Run


def on_measured(cluster: "Cluster", run: "Run", measured: Measured) -> None:
    """The newest that a run has measured; it may be the same as before. It counts from the next plan on."""
    batches = measured.batches
    if batches is None:
        _on_paced(cluster, run, measured.step_s)
        return
    limits = Limits(batches.first, batches.last, batches.least_per_slot, batches.most_per_slot)
    timing = Timing(len(run.shares), int(run.slots), batches.per_slot, measured.step_s)
    on_reported(cluster, run.trial, limits, timing, Noise(batches.grad_sqr, batches.grad_var))


def on_reported(cluster: "Cluster", trial_id: TrialId, limits: Limits, timing: Timing, noise: Noise) -> None:
    """A run has measured its steps and its gradient. It counts from the next plan on; of others than elastic runs nothing is kept."""
    record = _record_of(cluster, trial_id)
    if record is None:
        return
    history = record.history
    if not isinstance(history, History) or history.limits != limits:
        history = record.history = History(limits)
    history.add(timing, noise)


def _on_paced(cluster: "Cluster", run: "Run", step_s: float) -> None:
    """Of a script that says nothing of its batches. What one that did has taught is not thrown away for it."""
    record = _record_of(cluster, run.trial)
    if record is None or isinstance(record.history, History):
        return
    if record.history is None:
        record.history = Paces()
    record.history.add(int(run.slots), step_s)


def _record_of(cluster: "Cluster", trial_id: TrialId) -> Record | None:
    trial = cluster.trials.get(trial_id)
    return None if trial is None else cluster.pools[cluster.pool_of(trial)].elastic.of.get(trial_id)
