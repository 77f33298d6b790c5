"""Arithmetic of successive halving: times of rungs, brackets, and how trials are distributed over them.

Li et al., "A System for Massively Parallel Hyperparameter Tuning" (ASHA, MLSys 2020), as implemented in Determined
0.38. All of it is exact: the divisor is a fraction, so no logarithm is rounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from muster.config import AdaptiveAsha, AsyncHalving, Searcher

Mode = Literal["aggressive", "standard", "conservative"]


@dataclass(frozen=True, slots=True)
class BracketSize:
    """Size of a bracket: its rungs, its trials, and how many of them start at once."""

    rungs: int
    max_trials: int
    initial: int


class Ladder:
    """The rungs of one bracket. `targets` are their times, ascending; one in `divisor` trials continues at each."""

    def __init__(self, targets: Sequence[int], divisor: float) -> None:
        self.targets = tuple(targets)
        self._ratio = Fraction(divisor)

    def is_top(self, rung: int) -> bool:
        return rung == len(self.targets) - 1

    def kept(self, count: int) -> int:
        """Return how many of `count` trials continue."""
        return count * self._ratio.denominator // self._ratio.numerator


def rung_targets(max_time: int, divisor: float, rungs: int) -> tuple[int, ...]:
    """Return the time at which each rung decides: max(floor(max_time / divisor^(rungs-1-i)), 1)."""
    ratio = Fraction(divisor)
    return tuple(max(int(max_time / ratio ** (rungs - 1 - i)), 1) for i in range(rungs))


def notes_of_rungs(searcher: Searcher) -> tuple[str, ...]:
    """Return a note if several rungs have the same time. One result is then judged several times, as in Determined."""
    match searcher:
        case AsyncHalving(num_rungs=rungs):
            key = "num_rungs"
        case AdaptiveAsha():
            key, rungs = "bracket_rungs", max(choose_rungs(searcher))
        case _:
            return ()
    times = rung_targets(searcher.max_time, searcher.divisor, rungs)
    if (distinct := len(set(times))) == rungs:
        return ()
    listed = ", ".join(map(str, times))
    return (
        f"searcher.{key}: the {rungs} rungs are at {listed}; only {distinct} of these times are distinct",
    )


def floor_log(value: int, base: float) -> int:
    """Return the greatest k with base^k <= value, for value >= 1 and base > 1, without rounding."""
    ratio, power, exponent = Fraction(base), Fraction(base), 0
    while power <= value:
        power, exponent = power * ratio, exponent + 1
    return exponent


def choose_rungs(searcher: AdaptiveAsha) -> tuple[int, ...]:
    """Return the number of rungs of each bracket, most first."""
    if searcher.bracket_rungs:
        return tuple(sorted(searcher.bracket_rungs, reverse=True))
    most = min(
        searcher.max_rungs,
        floor_log(searcher.max_time, searcher.divisor) + 1,
        floor_log(searcher.max_trials, searcher.divisor) + 1,
    )
    lowest = {"aggressive": most, "standard": (most - 1) // 2 + 1, "conservative": 1}[searcher.mode]
    return tuple(range(most, lowest - 1, -1))


def plan_brackets(searcher: AdaptiveAsha) -> tuple[BracketSize, ...]:
    """Return the brackets, most rungs first; their trials sum to `max_trials` exactly.

    Trials are distributed by weight divisor^(r-1)/r, so that brackets cost about the same; the rounding remainder
    goes to the first bracket. Where one trial for each tiny bracket would exceed `max_trials` (as it does in
    Determined), the largest bracket shrinks, and brackets beyond `max_trials` are dropped.
    """
    rungs = choose_rungs(searcher)[: searcher.max_trials]
    trials = _shared(searcher.max_trials, _weights(rungs, searcher.divisor))
    initial = equal_concurrency(searcher, trials)
    return tuple(BracketSize(r, n, max(1, min(n, c))) for r, n, c in zip(rungs, trials, initial, strict=True))


def equal_concurrency(searcher: AdaptiveAsha, trials: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many trials of each bracket may run at once, distributed as in Determined."""
    count = len(trials)
    if searcher.max_concurrent_trials == 0:
        return (max(trials[-1], int(searcher.divisor)),) * count
    share, left = divmod(max(searcher.max_concurrent_trials, count), count)
    return tuple(share + (index < left) for index in range(count))


def split_concurrency(concurrent: int, trials: Sequence[int]) -> tuple[int, ...]:
    """Return how many trials of each bracket start if each bracket, in order, takes as much concurrency as it can use."""
    starting: list[int] = []
    for count in trials:
        starting.append(min(count, concurrent - sum(starting)))
    return tuple(starting)


def initial_trials(max_trials: int, concurrent: int, divisor: float, rungs: int) -> int:
    """Return how many trials of one bracket start at once. A concurrency of 0 means divisor^(rungs-1)."""
    if concurrent:
        return min(concurrent, max_trials)
    return max(1, min(max_trials, int(Fraction(divisor) ** (rungs - 1))))


def reshare_trials(max_trials: int, planned: Sequence[int], made: Sequence[int]) -> tuple[int, ...]:
    """Distribute a new total over the brackets in the present proportions.

    Each bracket gets at least the trials that it has created. The rounding remainder goes to the first bracket. If
    brackets have created more than their share, the bracket with the most trials left to create shrinks.
    """
    total = sum(planned)
    shares = [max(max_trials * one // total, least) for one, least in zip(planned, made, strict=True)]
    shares[0] += max(max_trials - sum(shares), 0)
    while sum(shares) > max_trials:
        spare = [share - least for share, least in zip(shares, made, strict=True)]
        shares[spare.index(max(spare))] -= 1
    return tuple(shares)


def planned_stops(brackets: tuple[BracketSize, ...], max_time: int, divisor: float) -> dict[int, int]:
    """Return how many trials are expected to end at each time if every rung keeps its 1/divisor."""
    stops: dict[int, int] = {}
    for bracket in brackets:
        left, ratio = bracket.max_trials, Fraction(divisor)
        for target in rung_targets(max_time, divisor, bracket.rungs)[:-1]:
            kept = max(int(left / ratio), 1)
            stops[target] = stops.get(target, 0) + left - kept
            left = kept
        stops[max_time] = stops.get(max_time, 0) + left
    return dict(sorted(stops.items()))


def _weights(rungs: tuple[int, ...], divisor: float) -> list[Fraction]:
    return [Fraction(divisor) ** (r - 1) / r for r in rungs]


def _shared(max_trials: int, weights: list[Fraction]) -> tuple[int, ...]:
    total = sum(weights)
    trials = [max(int(weight * max_trials / total), 1) for weight in weights]
    trials[0] += max(max_trials - sum(trials), 0)
    while sum(trials) > max_trials:
        trials[trials.index(max(trials))] -= 1
    return tuple(trials)
