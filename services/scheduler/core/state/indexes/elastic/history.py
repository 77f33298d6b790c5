"""The reports of one elastic trial, and the models fitted to them. Only reports change this index."""

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
"""The most slots, above its minimum, for a trial without reports."""
GROWTH = 2
"""A trial may grow to this multiple of the slots that it has tried (Pollux, section 4.1): predictions beyond
are unreliable."""
MOST_TIMINGS = 256
"""The number of timings kept. A new timing replaces an older one of the same allocation and batch."""


class ReportHistory:
    """The reports of one trial. Models are fitted on demand, once after each report that adds information."""

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
        """The newest timing of each allocation and batch, oldest first."""
        return self._timings.values()

    @property
    def noise(self) -> GradientNoise | None:
        """The gradient noise of the last report."""
        return self._noise

    @property
    def most_slots(self) -> int:
        """The most slots that the trial may have now, given what it has tried."""
        return min(self.limits.most_slots, max(FIRST_SLOTS, GROWTH * self._tried))

    def add(self, timing: Timing, noise: GradientNoise) -> None:
        """Add a report: the time of a step with an allocation, and the current gradient noise."""
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
        """Return the goodput of each size on machines of `per_machine` slots, relative to the first size;
        proportional to the slots before any report."""
        key = (per_machine, tuple(sizes))
        if key not in self._predicted:
            self._predicted[key] = self._speedups(np.array(sizes, dtype=np.int64), per_machine)
        return self._predicted[key]

    def batch(self, machines: int, slots: int) -> BatchSplit:
        """Return the batch with the highest goodput for an allocation; the first batch size before any report."""
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
