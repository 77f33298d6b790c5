"""Training reports of elastic trials."""

from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.indexes.elastic.records import GoodputReport, Report, StepTimeReport
from services.scheduler.core.state.indexes.elastic.throughput import Timing
from services.scheduler.core.state.observed import StepMeasurement
from services.scheduler.core.state.records.run import Run
from shared.ids import TrialId


def on_reported(
    cluster: Cluster, trial: TrialId, limits: BatchLimits, timing: Timing, noise: GradientNoise
) -> Changes:
    """Record a run's step time and gradient noise."""
    draft = Draft(cluster)
    draft.learn_report(trial, GoodputReport(limits, timing, noise))
    return draft


def measure(draft: Draft, run: Run, measured: StepMeasurement) -> None:
    """Record the newest measurement of a run; it may repeat the previous one."""
    draft.learn_report(run.trial, _report_of(run, measured))


def _report_of(run: Run, measured: StepMeasurement) -> Report:
    batches = measured.batches
    if batches is None:
        return StepTimeReport(int(run.slots), measured.step_s)
    timing = Timing(len(run.shares), int(run.slots), batches.per_slot, measured.step_s)
    return GoodputReport(batches.limits, timing, batches.noise)
