"""The events that teach the scheduler how an elastic trial trains."""

from services.scheduler.core.changes import Changes
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.draft import Draft
from services.scheduler.core.elastic.goodput import Limits, Noise
from services.scheduler.core.elastic.records import Goodput, Pace, Report
from services.scheduler.core.elastic.throughput import Timing
from services.scheduler.core.run import Run
from shared.ids import TrialId
from shared.messages.allocations import Measured


def on_reported(cluster: Cluster, trial: TrialId, limits: Limits, timing: Timing, noise: Noise) -> Changes:
    """A run has measured its steps and its gradient."""
    draft = Draft(cluster)
    draft.learn_report(trial, Goodput(limits, timing, noise))
    return draft


def measure(draft: Draft, run: Run, measured: Measured) -> None:
    """The newest that a run has measured; it may be the same as before."""
    draft.learn_report(run.trial, _report_of(run, measured))


def _report_of(run: Run, measured: Measured) -> Report:
    batches = measured.batches
    if batches is None:
        return Pace(int(run.slots), measured.step_s)
    limits = Limits(batches.first, batches.last, batches.least_per_slot, batches.most_per_slot)
    timing = Timing(len(run.shares), int(run.slots), batches.per_slot, measured.step_s)
    return Goodput(limits, timing, Noise(batches.grad_sqr, batches.grad_var))
