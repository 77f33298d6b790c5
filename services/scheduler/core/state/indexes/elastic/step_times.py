"""What a trial has shown whose script says nothing of its batches: it is taken to do the same in a step, whatever its slots."""

from collections.abc import Iterable, Sequence

import numpy as np

from services.scheduler.core.state.indexes.elastic.history import FIRST_SLOTS, GROWTH
from services.scheduler.core.state.indexes.elastic.throughput import Floats, fit_line


class StepTimes:
    """The newest seconds of a step by number of slots. Beyond what was tried Amdahl's law holds: a part is shared, a part is not."""

    def __init__(self) -> None:
        self._step_s: dict[int, float] = {}

    @property
    def known(self) -> Iterable[tuple[int, float]]:
        """The newest seconds of a step for each number of slots that was tried."""
        return self._step_s.items()

    @property
    def most_slots(self) -> int:
        """As many slots as it may have now, for all that has been tried."""
        return max(FIRST_SLOTS, GROWTH * max(self._step_s, default=0))

    def add(self, slots: int, step_s: float) -> None:
        """A run with so many slots has measured its steps."""
        self._step_s[slots] = step_s

    def speedups(self, sizes: Sequence[int], per_machine: int) -> Floats:
        """Steps a second for each size, relative to the first; in proportion to the slots while one size alone was tried."""
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
