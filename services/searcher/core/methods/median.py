"""Median stopping: stop a trial whose best result is worse than the median of the others at the same time.

Golovin et al., "Google Vizier: A Service for Black-Box Optimization" (KDD 2017), section 3.2.1: a trial is stopped at
time t if its best value by t is strictly worse than the median of the running averages, up to t, of the others. We
compare with all trials that have reached t, not only with completed ones, so that the first trials are compared too.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.config import MedianStopping as Config
from services.searcher.core.methods.independent import Independent
from services.searcher.core.methods.interface import (
    NO_DECISION,
    Branch,
    NonPausingMethod,
    ResizableMethod,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
)


@dataclass(slots=True)
class _MedianTrial:
    """Progress of a trial: marks passed, the sum of its results at them, its best, and its running average at each."""

    passed: int = 0
    total: float = 0.0
    best: float = float("inf")
    means: list[float] = field(default_factory=list)
    is_out: bool = False


class MedianStopping(ResizableMethod, NonPausingMethod):
    """Compare each trial at its marks with the trials that have passed them.

    Marks are every `interval` of the time metric up to `max_time`.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._trials = Independent(config.max_trials, config.max_concurrent_trials)
        self._runners: dict[int, _MedianTrial] = {}
        self._means: list[list[float]] = []

    def plan_start(self) -> list[SearchStep]:
        return self._trials.plan_start()

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._runners[trial] = _MedianTrial()
        return self._time_of(0)

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Pass the marks that `time` reaches; this result counts at each of them."""
        runner, counted = self._runners[trial], False
        if runner.is_out:
            return NO_DECISION
        while time >= (mark := self._time_of(runner.passed)):
            counted = True
            reached_max_time = mark >= self._config.max_time
            if self._pass(runner, value, is_judged=mark >= self._config.grace_time) or reached_max_time:
                runner.is_out = True
                return RungDecision(counted, stop=True, reached_max_time=reached_max_time, decide_at=None)
        return RungDecision(
            counted, stop=False, reached_max_time=False, decide_at=self._time_of(runner.passed)
        )

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Record a trial's end; an invalid trial is removed from the marks that it has passed."""
        if ending is TrialEnding.INVALID:
            runner = self._runners[trial]
            runner.is_out = True
            for others, mean in zip(self._means, runner.means, strict=False):
                del others[bisect_left(others, mean)]
        return self._trials.on_ended(trial, ending)

    def plan_more(self, count: int) -> list[StartTrial]:
        return self._trials.plan_more(count)

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        return self._trials.resize(max_trials, waiting)

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        return self._trials.close(waiting)

    def progress(self) -> float:
        return self._trials.progress()

    def planned(self) -> int:
        return self._trials.planned()

    def _time_of(self, mark: int) -> float:
        return float(min((mark + 1) * self._config.interval, self._config.max_time))

    def _pass(self, runner: _MedianTrial, value: float, is_judged: bool) -> bool:
        """Record a result at the trial's next mark and return whether it is worse than the median of the others there."""
        if runner.passed == len(self._means):
            self._means.append([])
        others = self._means[runner.passed]
        runner.best = min(runner.best, value)
        runner.total += value
        runner.passed += 1
        is_worse = (
            is_judged and len(others) >= self._config.min_trials and runner.best > others[len(others) // 2]
        )
        mean = runner.total / runner.passed
        insort(others, mean)
        runner.means.append(mean)
        return is_worse
