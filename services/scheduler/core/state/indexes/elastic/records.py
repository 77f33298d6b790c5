"""What is known of a pool's elastic trials: what they have reported, what they have had. Advanced by the cluster; `serialization` tells what a new
leader finds of it."""

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
    """A report of a script that tells its batches: the time of a step, and the gradient's noise."""

    limits: BatchLimits
    timing: Timing
    noise: GradientNoise


@dataclass(frozen=True, slots=True)
class StepTimeReport:
    """A report of a script that says nothing of its batches."""

    slots: int
    step_s: float


Report = GoodputReport | StepTimeReport


@dataclass(slots=True)
class ElasticRecord:
    """One trial. `service_ms`: slot-milliseconds up to `counted_ms`, since when it holds `slots`; `starts`: how often it got some."""

    history: ReportHistory | StepTimes | None = None
    slots: int = 0
    service_ms: int = 0
    counted_ms: int = 0
    starts: int = 0

    def service_at(self, now_ms: int) -> int:
        """Slot-milliseconds that it has had until now."""
        return self.service_ms + self.slots * (now_ms - self.counted_ms)

    def learn(self, report: Report) -> None:
        """It counts from the next plan on. What batches have taught is not thrown away for a pace."""
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
    """All of a pool. `resizing`: trials whose runs were asked to end so that they may go on with so many slots.
    `lent_step`: the step of the last plan."""

    of: dict[TrialId, ElasticRecord] = field(default_factory=dict)
    resizing: dict[TrialId, int] = field(default_factory=dict)
    lent_step: int = -1

    def hold(self, trial: TrialId, slots: int, now_ms: int) -> None:
        """From now on a trial holds so many slots."""
        record = self.of.setdefault(trial, ElasticRecord(counted_ms=now_ms))
        record.service_ms = record.service_at(now_ms)
        record.counted_ms = now_ms
        if slots and not record.slots:
            record.starts += 1
            self.resizing.pop(trial, None)
        record.slots = slots

    def follow(self, run: Run, trial: Trial | None) -> None:
        """A trial's newest run may have been asked to end so that the trial goes on with another number of slots."""
        if trial is None or trial.is_closed or trial.run != run.id or run.asked is None:
            return
        if run.asked.slots is not None:
            self.resizing[trial.id] = run.asked.slots

    def learn(self, trial: TrialId, report: Report) -> None:
        """A run has measured its steps; of others than elastic runs nothing is kept."""
        if trial in self.of:
            self.of[trial].learn(report)

    def forget(self, trial: TrialId) -> None:
        """It is over."""
        if self.of or self.resizing:
            self.of.pop(trial, None)
            self.resizing.pop(trial, None)
