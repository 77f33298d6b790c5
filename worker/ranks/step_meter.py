"""How an elastic run trains: what the scheduler lends slots by. Its script tells (`muster.elastic`), or it shows in what rank 0 reports."""

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
"""What has changed by less is no news: a number that is told anew is learnt anew."""


class StepMeter:
    """What is known of one run. The seconds of a step that nobody told are the median of the newest stretches of at least a second, so that
    a checkpoint now and then does not count."""

    def __init__(self) -> None:
        self._began: tuple[int, int] | None = None
        self._intervals: deque[float] = deque(maxlen=MAX_INTERVALS)
        self._computed: StepMeasurement | None = None
        self._reported: StepMeasurement | None = None

    def on_report(self, step: int, time_ms: int) -> None:
        """Rank 0 was at `step`. Of several reports that are read at once the last will do."""
        if self._began is None or step < self._began[0] or time_ms < self._began[1]:
            self._began = step, time_ms
            return
        steps, passed_ms = step - self._began[0], time_ms - self._began[1]
        if steps and passed_ms >= INTERVAL_MS:
            self._intervals.append(passed_ms / 1000 / steps)
            self._began = step, time_ms

    def on_measured(self, frame: wire.StepMeasurements) -> None:
        """The script has measured itself. What is no news, and nonsense from user code, changes nothing."""
        with suppress(ValidationError):
            self._reported = _newer(self._reported, _read(frame))

    def measured(self) -> StepMeasurement | None:
        """What the script has told, else what it has shown; None: not enough was heard yet."""
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
    """The part of the gradient's square that is noise: all that its gain with larger batches depends on."""
    return batches.grad_var / ((batches.grad_sqr + batches.grad_var) or 1.0)
