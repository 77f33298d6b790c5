"""The reports and slot usage of a pool's elastic trials. Updated by the cluster; `serialization` defines what a new
leader loads."""

from dataclasses import dataclass, field

from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.indexes.elastic.history import ReportHistory
from services.scheduler.core.state.indexes.elastic.step_times import StepTimes
from services.scheduler.core.state.indexes.elastic.throughput import Timing
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from shared.ids import TrialId


@dataclass(frozen=True, slots=True)
class GoodputReport:
    """A report of a script that reports its batches: the time of a step and the gradient noise."""

    limits: BatchLimits
    timing: Timing
    noise: GradientNoise


@dataclass(frozen=True, slots=True)
class StepTimeReport:
    """A report of a script that does not report its batches."""

    slots: int
    step_s: float


Report = GoodputReport | StepTimeReport


@dataclass(slots=True)
class ElasticRecord:
    """One trial.

    Attributes:
        service_ms: Slot-milliseconds until `counted_ms`. Since then it holds `slots`.
        starts: How often it received slots.
    """

    history: ReportHistory | StepTimes | None = None
    slots: int = 0
    service_ms: int = 0
    counted_ms: int = 0
    starts: int = 0

    def service_at(self, now_ms: int) -> int:
        """Return the slot-milliseconds that it has had until now."""
        return self.service_ms + self.slots * (now_ms - self.counted_ms)

    def learn(self, report: Report) -> None:
        """Add a report; the next plan uses it. Reports with batches are never replaced by reports without."""
        history = self.history
        match report:
            case GoodputReport(limits, timing, noise):
                if not isinstance(history, ReportHistory) or history.limits != limits:
                    history = self.history = ReportHistory(limits)
                history.add(timing, noise)
            case StepTimeReport(slots, step_s):
                if history is None:
                    history = self.history = StepTimes()
                if isinstance(history, StepTimes):
                    history.add(slots, step_s)


@dataclass(slots=True)
class ElasticRecords:
    """The elastic trials of a pool.

    Attributes:
        resizing: Trials whose runs were asked to end so that they resume with this number of slots.
        lent_step: The step of the last plan that distributed extra slots.
    """

    of: dict[TrialId, ElasticRecord] = field(default_factory=dict)
    resizing: dict[TrialId, int] = field(default_factory=dict)
    lent_step: int = -1

    def hold(self, trial: TrialId, slots: int, now_ms: int) -> None:
        """Record that a trial holds this number of slots from now on."""
        record = self.of.setdefault(trial, ElasticRecord(counted_ms=now_ms))
        record.service_ms = record.service_at(now_ms)
        record.counted_ms = now_ms
        if slots and not record.slots:
            record.starts += 1
            self.resizing.pop(trial, None)
        record.slots = slots

    def follow(self, run: Run, trial: Trial | None) -> None:
        """Note the target size if the trial's newest run was asked to end for a resize."""
        if trial is None or trial.is_closed or trial.run != run.id or run.asked is None:
            return
        if run.asked.slots is not None:
            self.resizing[trial.id] = run.asked.slots

    def learn(self, trial: TrialId, report: Report) -> None:
        """Add a report of a run. Reports of runs that are not elastic are ignored."""
        if trial in self.of:
            self.of[trial].learn(report)

    def forget(self, trial: TrialId) -> None:
        """Drop a closed trial."""
        if self.of or self.resizing:
            self.of.pop(trial, None)
            self.resizing.pop(trial, None)
