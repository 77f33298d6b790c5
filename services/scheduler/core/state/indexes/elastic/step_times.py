"""The step times of a trial whose script does not report batches. Its progress per step is taken to be
independent of the number of slots."""

from collections.abc import Iterable, Sequence

import numpy as np

from services.scheduler.core.state.indexes.elastic.history import FIRST_SLOTS, GROWTH
from services.scheduler.core.state.indexes.elastic.throughput import Floats, fit_line


class StepTimes:
    """The newest step time for each number of slots. Amdahl's law extrapolates beyond what was tried: one part
    scales with the slots, one does not."""

    def __init__(self) -> None:
        self._step_s: dict[int, float] = {}

    @property
    def known(self) -> Iterable[tuple[int, float]]:
        """The newest step time in seconds for each number of slots that was tried."""
        return self._step_s.items()

    @property
    def most_slots(self) -> int:
        """The most slots that the trial may have now, given what it has tried."""
        return max(FIRST_SLOTS, GROWTH * max(self._step_s, default=0))

    def add(self, slots: int, step_s: float) -> None:
        """Record the step time of a run with `slots` slots."""
        self._step_s[slots] = step_s

    def speedups(self, sizes: Sequence[int], per_machine: int) -> Floats:
        """Return the steps per second of each size, relative to the first; proportional to the slots while only
        one size was tried."""
        seconds = self._seconds(np.array(sizes, dtype=np.float64))
        for index, size in enumerate(sizes):
            seconds[index] = self._step_s.get(size, seconds[index])
        relative: Floats = seconds[0] / seconds
        return relative

    def _seconds(self, slots: Floats) -> Floats:
        if not self._step_s:
            return 1 / slots
        tried = np.array(list(self._step_s), dtype=np.float64)
        step_s = np.array(list(self._step_s.values()))
        if len(tried) == 1:
            return step_s * tried / slots
        alone, shared = fit_line(1 / tried, step_s, step_s, ridge=0.0)
        seconds: Floats = alone + shared / slots
        return seconds
