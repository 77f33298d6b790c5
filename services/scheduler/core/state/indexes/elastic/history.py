"""What an elastic trial has reported so far, and what may be concluded from it. A mutable index, advanced by reports alone."""

from collections.abc import Iterable, Sequence

import numpy as np

from services.scheduler.core.state.indexes.elastic.goodput import (
    BatchLimits,
    BatchSplit,
    GradientNoise,
    predict_goodput,
    split_batch,
)
from services.scheduler.core.state.indexes.elastic.throughput import (
    Floats,
    Throughput,
    Timing,
    fit_throughput,
)

FIRST_SLOTS = 2
"""What a trial that has not reported yet may have, beyond its minimum."""
GROWTH = 2
"""Beyond what it has tried, a trial may grow by this factor at once (Pollux, section 4.1): predictions further out are guesses."""
MOST_TIMINGS = 256
"""The newest timings that are kept; later ones replace those of the same allocation and batch."""


class ReportHistory:
    """One trial's reports. Models are fitted when asked for, once after each report that brings something new."""

    def __init__(self, limits: BatchLimits) -> None:
        self.limits = limits
        self._timings: dict[tuple[int, int, int], Timing] = {}
        self._noise: GradientNoise | None = None
        self._tried = 0
        self._model: Throughput | None = None
        self._predicted: dict[tuple[int, tuple[int, ...]], Floats] = {}
        self._batches: dict[tuple[int, int], BatchSplit] = {}

    @property
    def timings(self) -> Iterable[Timing]:
        """The newest of each allocation and batch, oldest first."""
        return self._timings.values()

    @property
    def noise(self) -> GradientNoise | None:
        """The gradient's noise, as last reported."""
        return self._noise

    @property
    def most_slots(self) -> int:
        """As many slots as it may have now, for all that has been tried."""
        return min(self.limits.most_slots, max(FIRST_SLOTS, GROWTH * self._tried))

    def add(self, timing: Timing, noise: GradientNoise) -> None:
        """A report: the time of a step with an allocation, and the gradient's noise now."""
        key = (timing.machines, timing.slots, timing.per_slot)
        if self._timings.get(key) != timing:
            self._timings.pop(key, None)
            self._timings[key] = timing
            if len(self._timings) > MOST_TIMINGS:
                del self._timings[next(iter(self._timings))]
            self._model = None
        elif noise == self._noise:
            return
        self._noise = noise
        self._tried = max(self._tried, timing.slots)
        self._predicted.clear()
        self._batches.clear()

    def speedups(self, sizes: Sequence[int], per_machine: int) -> Floats:
        """Goodput for each size on machines of `per_machine` slots, relative to the first size; in proportion before any report."""
        key = (per_machine, tuple(sizes))
        if key not in self._predicted:
            self._predicted[key] = self._speedups(np.array(sizes, dtype=np.int64), per_machine)
        return self._predicted[key]

    def batch(self, machines: int, slots: int) -> BatchSplit:
        """The batch with which an allocation achieves most; before any report the first batch size."""
        if self._noise is None:
            limits = self.limits
            return split_batch(max(limits.first_batch, limits.least_per_slot * slots), slots, limits)
        key = (machines, slots)
        if key not in self._batches:
            model = self._fitted()
            best = predict_goodput(model, self._noise, self.limits, np.array([machines]), np.array([slots]))
            self._batches[key] = BatchSplit(int(best.per_slot[0]), int(best.rounds[0]))
        return self._batches[key]

    def _speedups(self, sizes: np.ndarray[tuple[int], np.dtype[np.int64]], per_machine: int) -> Floats:
        proportion: Floats = sizes / sizes[0]
        if self._noise is None:
            return proportion
        machines = -(-sizes // per_machine)
        goodput = predict_goodput(self._fitted(), self._noise, self.limits, machines, sizes).goodput
        if goodput[0] <= 0:
            return proportion
        relative: Floats = goodput / goodput[0]
        return relative

    def _fitted(self) -> Throughput:
        if self._model is None:
            self._model = fit_throughput(list(self._timings.values()))
        return self._model
