"""Measures the step time of an elastic run, by which the scheduler allocates extra slots: from `muster.elastic`, or from rank 0's reports."""

from collections import deque
from contextlib import suppress
from statistics import median

from pydantic import ValidationError

from muster import wire
from shared.messages.allocations import MOST_STEP_S, Batches, StepMeasurement

INTERVAL_MS = 1000
MAX_INTERVALS = 15
MIN_STEP_S = 1e-9
MIN_INTERVALS = 3
MIN_CHANGE = 0.05
"""Relative changes below this are not reported: the scheduler would relearn its model."""


class StepMeter:
    """The step measurement of one run. Without `muster.elastic`, the step time is the median of the newest intervals of at least a second, so that
    occasional checkpoints do not count."""

    def __init__(self) -> None:
        self._began: tuple[int, int] | None = None
        self._intervals: deque[float] = deque(maxlen=MAX_INTERVALS)
        self._computed: StepMeasurement | None = None
        self._reported: StepMeasurement | None = None

    def on_report(self, step: int, time_ms: int) -> None:
        """Record that rank 0 reported `step`. Of several reports read at once, the last one suffices."""
        if self._began is None or step < self._began[0] or time_ms < self._began[1]:
            self._began = step, time_ms
            return
        steps, passed_ms = step - self._began[0], time_ms - self._began[1]
        if steps and passed_ms >= INTERVAL_MS:
            self._intervals.append(passed_ms / 1000 / steps)
            self._began = step, time_ms

    def on_measured(self, frame: wire.StepMeasurements) -> None:
        """Apply a measurement of the script. Small changes and invalid values from user code are ignored."""
        with suppress(ValidationError):
            self._reported = _newer(self._reported, _read(frame))

    def measured(self) -> StepMeasurement | None:
        """Return the script's measurement, else the computed one; None: not enough reports yet."""
        if self._reported is None and len(self._intervals) >= MIN_INTERVALS:
            step_s = min(max(median(self._intervals), MIN_STEP_S), MOST_STEP_S)
            self._computed = _newer(self._computed, StepMeasurement(step_s=step_s))
        return self._reported or self._computed


def _read(frame: wire.StepMeasurements) -> StepMeasurement:
    batches = Batches(
        per_slot=frame.per_rank,
        first=frame.first_batch,
        last=frame.last_batch,
        least_per_slot=frame.least_per_rank,
        most_per_slot=frame.most_per_rank,
        grad_sqr=frame.grad_sqr,
        grad_var=frame.grad_var,
    )
    return StepMeasurement(step_s=frame.step_s, batches=batches)


def _newer(before: StepMeasurement | None, now: StepMeasurement) -> StepMeasurement:
    return now if before is None or _is_news(before, now) else before


def _is_news(before: StepMeasurement, now: StepMeasurement) -> bool:
    if abs(now.step_s - before.step_s) > MIN_CHANGE * before.step_s:
        return True
    old, new = before.batches, now.batches
    if old is None or new is None:
        return old != new
    same_noise = {"grad_sqr": old.grad_sqr, "grad_var": old.grad_var}
    return abs(_noisiness(new) - _noisiness(old)) > MIN_CHANGE or new.model_copy(update=same_noise) != old


def _noisiness(batches: Batches) -> float:
    """Return the fraction of the gradient's square that is noise: the gain of larger batches depends on it alone."""
    return batches.grad_var / ((batches.grad_sqr + batches.grad_var) or 1.0)
