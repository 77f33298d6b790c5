"""How long runs hold their slots, learned from those that have ended: of the same experiment where there are enough, else of the pool."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shared.ids import ExperimentId, PoolName

Draws: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""One value (milliseconds) for each imagined future."""

ENOUGH = 5
"""With fewer ended runs nothing is said."""
KEPT_OF_EXPERIMENT, KEPT_OF_POOL = 64, 256
TAIL = 1.5
"""A run that outlasts all that are known goes on as Pareto has it, with this exponent: about as long again, perhaps much longer."""


class RunDurations:
    """The newest lengths, in milliseconds; advanced by the ends of runs."""

    def __init__(self) -> None:
        self._of_pool = defaultdict[PoolName, deque[float]](lambda: deque(maxlen=KEPT_OF_POOL))
        self._of_experiment = defaultdict[tuple[PoolName, ExperimentId], deque[float]](
            lambda: deque(maxlen=KEPT_OF_EXPERIMENT)
        )

    def add(self, pool: PoolName, experiment: ExperimentId, length_ms: float) -> None:
        """A run has ended that held its slots for so long."""
        self._of_pool[pool].append(length_ms)
        self._of_experiment[pool, experiment].append(length_ms)

    def forget(self, pools: Iterable[PoolName], experiment: ExperimentId) -> None:
        """Nothing of this experiment is wanted any more; the pool goes on knowing what its runs took."""
        for pool in pools:
            self._of_experiment.pop((pool, experiment), None)

    def of(
        self, pool: PoolName, experiment: ExperimentId
    ) -> tuple[ExperimentId | None, Sequence[float]] | None:
        """The lengths that a run of this experiment is judged by, and whose they are (None: all of the pool); None: too few have
        ended."""
        mine = self._of_experiment.get((pool, experiment), ())
        if len(mine) >= ENOUGH:
            return experiment, tuple(mine)
        anyones = self._of_pool.get(pool, ())
        return (None, tuple(anyones)) if len(anyones) >= ENOUGH else None


@dataclass(frozen=True, slots=True)
class Survival:
    """The share of runs that still hold their slots after a time: Kaplan and Meier's estimate, straight between its points.

    Attributes:
        times: Milliseconds, rising. `shares`: falling, from 1; what is left at the end is the tail's.
        doubt: By how much each future takes all lengths to be longer or shorter: the estimate is made of few runs.
    """

    times: Draws
    shares: Draws
    doubt: Draws

    def rest(self, elapsed_ms: float, chance: Draws) -> Draws:
        """How much longer a run takes that has taken `elapsed_ms`, in each future.

        Args:
            chance: between 0 and 1, one for each future.
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
        """How long a run takes that has not begun."""
        return self.rest(0.0, chance)


def survival(ended_ms: Sequence[float], running_ms: Sequence[float], doubt: Draws) -> Survival:
    """From the lengths of ended runs and the ages of running ones, which will be longer than that (Kaplan and Meier, 1958).

    Args:
        doubt: standard normal, one for each future; it counts the less, the more runs have ended.
    """
    ended, running = np.sort(np.asarray(ended_ms, float)), np.sort(np.asarray(running_ms, float))
    at_risk = len(ended) - np.arange(len(ended)) + len(running) - np.searchsorted(running, ended)
    shares = np.cumprod(1 - 1 / np.maximum(at_risk, 1))
    # Between two ends the truth lies anywhere; half of the last step is the tail's.
    before = np.concatenate(([1.0], shares[:-1]))
    middle = (before + shares) / 2
    times = np.concatenate(([0.0, ended[0] * 0.8], ended))
    spread = float(np.std(np.log(np.maximum(ended, 1.0)))) / np.sqrt(len(ended))
    return Survival(
        np.maximum.accumulate(times), np.concatenate(([1.0, 1.0], middle)), np.exp(spread * doubt)
    )
