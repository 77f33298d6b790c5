"""How long runs hold their slots, learned from ended runs of the same experiment if there are enough, otherwise
of the pool."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shared.ids import ExperimentId, PoolName

Draws: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""One value (milliseconds) for each simulated future."""

ENOUGH = 5
"""The minimum number of ended runs for an estimate."""
KEPT_OF_EXPERIMENT, KEPT_OF_POOL = 64, 256
TAIL = 1.5
"""Exponent of the Pareto tail for runs that outlast all known ones: about as long again, possibly much longer."""


class RunDurations:
    """The newest durations, in milliseconds; updated when runs end."""

    def __init__(self) -> None:
        self._of_pool = defaultdict[PoolName, deque[float]](lambda: deque(maxlen=KEPT_OF_POOL))
        self._of_experiment = defaultdict[tuple[PoolName, ExperimentId], deque[float]](
            lambda: deque(maxlen=KEPT_OF_EXPERIMENT)
        )

    def add(self, pool: PoolName, experiment: ExperimentId, length_ms: float) -> None:
        """Record for how long an ended run held its slots."""
        self._of_pool[pool].append(length_ms)
        self._of_experiment[pool, experiment].append(length_ms)

    def forget(self, pools: Iterable[PoolName], experiment: ExperimentId) -> None:
        """Drop the durations of an experiment without open requests. The pool keeps them."""
        for pool in pools:
            self._of_experiment.pop((pool, experiment), None)

    def of(
        self, pool: PoolName, experiment: ExperimentId
    ) -> tuple[ExperimentId | None, Sequence[float]] | None:
        """Return the durations to use for an experiment and where they come from (None: the entire pool), or
        None if too few runs have ended."""
        mine = self._of_experiment.get((pool, experiment), ())
        if len(mine) >= ENOUGH:
            return experiment, tuple(mine)
        others = self._of_pool.get(pool, ())
        return (None, tuple(others)) if len(others) >= ENOUGH else None


@dataclass(frozen=True, slots=True)
class Survival:
    """The fraction of runs that still hold their slots after a time: the Kaplan-Meier estimate, interpolated
    linearly.

    Attributes:
        times: Milliseconds, increasing.
        shares: Fractions, decreasing from 1; the last value is the weight of the tail.
        doubt: The factor on all durations in each future, since the estimate is made from few runs.
    """

    times: Draws
    shares: Draws
    doubt: Draws

    def rest(self, elapsed_ms: float, chance: Draws) -> Draws:
        """Return the remaining duration of a run that has taken `elapsed_ms`, in each future.

        Args:
            chance: Between 0 and 1, one for each future.
        """
        then = float(np.interp(elapsed_ms, self.times, self.shares, right=0.0))
        last_ms, left = float(self.times[-1]), float(self.shares[-1])
        if then <= left or then <= 0.0:
            beyond = np.maximum(elapsed_ms, 1.0) * (chance ** (-1 / TAIL) - 1)
            return np.asarray(np.maximum(beyond, 0.0) * self.doubt)
        wanted = chance * then
        within = np.interp(wanted, self.shares[::-1], self.times[::-1])
        tail = last_ms * (left / np.maximum(wanted, 1e-9)) ** (1 / TAIL) if left > 0 else within
        total = np.where(wanted < left, tail, within)
        return np.asarray(np.maximum(total - elapsed_ms, 0.0) * self.doubt)

    def whole(self, chance: Draws) -> Draws:
        """Return the duration of a run that has not started."""
        return self.rest(0.0, chance)


def survival(ended_ms: Sequence[float], running_ms: Sequence[float], doubt: Draws) -> Survival:
    """Estimate from the durations of ended runs and the ages of running ones, which are censored (Kaplan and
    Meier, 1958).

    Args:
        doubt: Standard normal, one for each future. Its effect decreases with the number of ended runs.
    """
    ended, running = np.sort(np.asarray(ended_ms, float)), np.sort(np.asarray(running_ms, float))
    at_risk = len(ended) - np.arange(len(ended)) + len(running) - np.searchsorted(running, ended)
    shares = np.cumprod(1 - 1 / np.maximum(at_risk, 1))
    # Between two ends the true value is unknown; half of the last step belongs to the tail.
    before = np.concatenate(([1.0], shares[:-1]))
    middle = (before + shares) / 2
    times = np.concatenate(([0.0, ended[0] * 0.8], ended))
    spread = float(np.std(np.log(np.maximum(ended, 1.0)))) / np.sqrt(len(ended))
    return Survival(
        np.maximum.accumulate(times), np.concatenate(([1.0, 1.0], middle)), np.exp(spread * doubt)
    )
