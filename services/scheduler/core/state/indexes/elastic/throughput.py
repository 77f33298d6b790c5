"""A model of the step time, fitted to the steps that a run has reported (Pollux, sections 3.2 and 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OVERLAPS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
"""Candidate values of gamma. From 10 on, gamma is equivalent to a maximum."""
OVERLAP_COST = 1e-3
"""Per (gamma - 1)², added to the mean squared log error. Prefers little overlap unless the reports show more."""
SLOWDOWN_COST = 1e-2
"""Ridge on the slowdown per slot, relative to the constant. Optimistic unless the reports show otherwise."""
FARTHER = 1.1
"""Assumed cost of synchronising between machines, relative to within one, until it was measured."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A measurement with one allocation and batch: seconds per step and seconds of its compute part (None: not
    measured separately)."""

    machines: int
    slots: int
    per_slot: int
    step_s: float
    compute_s: float | None = None


@dataclass(frozen=True, slots=True)
class Throughput:
    """The model: compute time (a + b · samples per slot), synchronisation time (a + b · (slots - 2)) within and
    between machines, and the overlap `gamma` from 1 (sequential) to 10 (concurrent)."""

    compute: tuple[float, float]
    within: tuple[float, float] = (0.0, 0.0)
    between: tuple[float, float] = (0.0, 0.0)
    gamma: float = 1.0

    def compute_s(self, per_slot: Ints) -> Floats:
        """Return T_grad for arrays of samples per slot."""
        seconds: Floats = np.asarray(self.compute[0] + self.compute[1] * per_slot, dtype=np.float64)
        return seconds

    def sync_s(self, machines: Ints, slots: Ints) -> Floats:
        """Return T_sync; 0 for a single slot."""
        more = np.maximum(slots - 2, 0)
        within = self.within[0] + self.within[1] * more
        between = self.between[0] + self.between[1] * more
        return np.where(machines > 1, between, np.where(slots > 1, within, 0.0))

    def step_s(self, machines: Ints, slots: Ints, per_slot: Ints, rounds: Ints) -> Floats:
        """Return T_iter: `rounds` batches are computed, and the last one overlaps with the synchronisation.
        Arrays of one shape, or broadcast."""
        compute = self.compute_s(per_slot)
        last = _together(compute, self.sync_s(machines, slots), self.gamma)
        return (rounds - 1) * compute + last


def fit_throughput(timings: Sequence[Timing]) -> Throughput:
    """Return the model that explains the reports best, in relative terms. Needs at least one report.

    Allocations that were never tried are taken to be good, so that they are tried (Pollux, section 4.1,
    prior-driven exploration). One batch size: half of the compute time is constant. No gang: synchronisation is
    free. One gang size: no further slowdown. No second machine: as within one, times `FARTHER`.

    Deviation from Pollux: Pollux minimises over its seven parameters with L-BFGS-B from a fixed start. For a
    given gamma the other six are linear least squares of two unknowns each, so this function solves those
    exactly and tries a grid of gammas. It needs no optimiser and has no local minimum.
    """
    machines, slots, per_slot = (
        np.array([getattr(timing, name) for timing in timings], dtype=np.int64)
        for name in ("machines", "slots", "per_slot")
    )
    step, computed = np.array([timing.step_s for timing in timings]), _computed(timings)
    compute = _fit_compute(per_slot, computed)
    local, remote = (machines == 1) & (slots > 1), machines > 1
    best: tuple[float, Throughput] | None = None
    for gamma in OVERLAPS if (local | remote).any() else OVERLAPS[:1]:
        rest = np.maximum(step**gamma - np.minimum(computed, step) ** gamma, 0.0) ** (1 / gamma)
        within = _fit_sync(slots[local], rest[local], step[local])
        between = _fit_sync(slots[remote], rest[remote], step[remote])
        if not remote.any():
            between = within[0] * FARTHER, within[1] * FARTHER
        model = Throughput(compute, within, between, gamma)
        ones = np.ones_like(slots)
        off = np.log(model.step_s(machines, slots, per_slot, ones) / step)
        cost = float(np.mean(off**2)) + OVERLAP_COST * (gamma - 1) ** 2
        if best is None or cost < best[0]:
            best = cost, model
    assert best is not None
    return best[1]


def _computed(timings: Sequence[Timing]) -> Floats:
    """Return the compute part of each step. For timings without a separate compute part, the steps with the
    fewest slots count as compute only, and predict the compute part of larger ones from their samples."""
    unsplit = [timing for timing in timings if timing.compute_s is None]
    fewest = min((timing.slots for timing in unsplit), default=0)
    base = [timing for timing in unsplit if timing.slots == fewest]
    per_slot = np.array([timing.per_slot for timing in base], dtype=np.int64)
    constant, each = _fit_compute(per_slot, np.array([timing.step_s for timing in base])) if base else (0, 0)
    return np.array(
        [
            timing.compute_s
            if timing.compute_s is not None
            else timing.step_s
            if timing.slots == fewest
            else min(timing.step_s, constant + each * timing.per_slot)
            for timing in timings
        ]
    )


def _fit_compute(per_slot: Ints, seconds: Floats) -> tuple[float, float]:
    if len(np.unique(per_slot)) == 1:
        mean = float(np.mean(seconds))
        return mean / 2, mean / 2 / float(per_slot[0])
    return fit_line(per_slot.astype(np.float64), seconds, seconds, ridge=0.0)


def _fit_sync(slots: Ints, seconds: Floats, step: Floats) -> tuple[float, float]:
    if len(slots) == 0:
        return 0.0, 0.0
    more = np.maximum(slots - 2, 0).astype(np.float64)
    if len(np.unique(slots)) == 1:
        return float(np.average(seconds, weights=1 / step**2)), 0.0
    return fit_line(more, seconds, step, ridge=SLOWDOWN_COST)


def fit_line(x: Floats, y: Floats, scale: Floats, ridge: float) -> tuple[float, float]:
    """Fit y = a + b x by least squares with errors relative to `scale`; neither a nor b is negative. `ridge`
    pulls b · max(x) towards 0."""
    weights = 1 / scale**2
    total, mean_x, mean_y = weights.sum(), np.average(x, weights=weights), np.average(y, weights=weights)
    spread = float((weights * (x - mean_x) ** 2).sum())
    ridge_weight = ridge * float(total) * float(x.max()) ** 2
    slope = float((weights * (x - mean_x) * (y - mean_y)).sum()) / (spread + ridge_weight)
    constant = float(mean_y) - slope * float(mean_x)
    if slope <= 0:
        return float(mean_y), 0.0
    if constant <= 0:
        through_zero = float((weights * x * y).sum()) / (float((weights * x * x).sum()) + ridge_weight)
        return 0.0, through_zero
    return constant, slope


def _together(compute: Floats, sync: Floats, gamma: float) -> Floats:
    """Return (compute^γ + sync^γ)^(1/γ), factored by the greater of the two to avoid overflow."""
    greater = np.maximum(compute, sync)
    ratio = np.minimum(compute, sync) / np.maximum(greater, 1e-12)
    summed: Floats = greater * (1 + ratio**gamma) ** (1 / gamma)
    return summed
