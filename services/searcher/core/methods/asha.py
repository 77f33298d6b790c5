"""ASHA with stopping: `async_halving` is one bracket, `adaptive_asha` a tournament of several.

Li et al., "A System for Massively Parallel Hyperparameter Tuning" (MLSys 2020), with the stopping rule of Determined
0.38: a trial continues past a rung while it is among the best 1/divisor of the trials seen there so far. When a trial
exits early, Determined ends the search with fewer trials; we replace the trial.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from services.searcher.core.methods.halving import Ladder, reshare_trials
from services.searcher.core.methods.interface import (
    NO_DECISION,
    Branch,
    NonPausingMethod,
    ResizableMethod,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
    rung_decision,
)
from services.searcher.core.methods.promotion import PromotionBracket

WORST = math.inf


@dataclass(slots=True)
class _StoppingTrial:
    """Progress of a trial: the rung that decides next, and whether its results still count.

    `placed` are its values at rungs, from the lowest up.
    """

    rung: int = 0
    is_out: bool = False
    placed: list[float] = field(default_factory=list)


class StoppingBracket(ResizableMethod, NonPausingMethod):
    """One bracket. `targets` are the times of its rungs, ascending; `initial` of `max_trials` trials start at once."""

    def __init__(self, targets: Sequence[int], max_trials: int, initial: int, divisor: float) -> None:
        self._ladder = Ladder(targets, divisor)
        self._targets = self._ladder.targets
        self._rungs: list[list[float]] = [[] for _ in targets]
        self._runners: dict[int, _StoppingTrial] = {}
        self._max_trials = max_trials
        self._initial = initial
        self._requested = min(initial, max_trials)
        self._ended = 0
        self._is_hurried = False

    def plan_start(self) -> list[SearchStep]:
        return [StartTrial()] * self._requested

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._runners[trial] = _StoppingTrial()
        return float(self._targets[0])

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Pass rungs upward from the trial's own while `time` reaches them and the trial is kept."""
        runner = self._runners[trial]
        if runner.is_out:
            return NO_DECISION
        counted: list[float] = []
        while time >= self._targets[runner.rung]:
            counted.append(float(self._targets[runner.rung]))
            is_kept = self._insert(runner.rung, value)
            runner.placed.append(value)
            at_top = self._ladder.is_top(runner.rung)
            if at_top or not is_kept:
                runner.is_out = True
                return rung_decision(counted, None, stop=True, reached_max_time=at_top)
            runner.rung += 1
        return rung_decision(counted, float(self._targets[runner.rung]))

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Start another trial while any are left. A trial that failed or was cancelled ranks worst at its rung.

        A trial that finished by itself keeps its results, and results still on their way may count. An invalid trial
        is removed from its rungs.
        """
        runner = self._runners[trial]
        if ending is TrialEnding.INVALID:
            runner.is_out = True
            for values, value in zip(self._rungs, runner.placed, strict=False):
                del values[bisect_left(values, value)]
            return [StartTrial()]
        if ending is not TrialEnding.FINISHED and not runner.is_out:
            self._insert(runner.rung, WORST)
            runner.is_out = True
        self._ended += 1
        if self._requested >= self._max_trials:
            return []
        self._requested += 1
        return [StartTrial()]

    def plan_more(self, count: int) -> list[StartTrial]:
        more = min(count, self._max_trials - self._requested)
        self._requested += more
        return [StartTrial()] * more

    @property
    def has_free_slot(self) -> bool:
        """Whether a trial that ended without a replacement left concurrency free: always, since no trial pauses here."""
        return True

    def release_slot(self) -> None:
        """Reduce the bracket's concurrency by one."""
        self._initial -= 1

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        self._max_trials, self._is_hurried = max_trials, False
        self._requested -= len(waiting)
        return [*self.plan_more(max(0, self._initial - (self._requested - self._ended)))]

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Finish with the trials that exist: at each rung the better half continues if the rule would let fewer continue."""
        self._requested -= len(waiting)
        self._max_trials, self._is_hurried = max(1, self._requested), True
        return []

    def progress(self) -> float:
        """Return Determined's measure: results at the lowest rung relative to 1.2 times the trials, then ended trials."""
        reached = len(self._rungs[0])
        share = reached / (1.2 * self._max_trials)
        if reached >= self._max_trials or self._ended == self._max_trials:
            share = max(share, self._ended / self._max_trials)
        return min(share, 1.0)

    def planned(self) -> int:
        return self._max_trials

    def rungs(self) -> list[list[float]]:
        """Return the values seen at each rung, best first."""
        return [list(rung) for rung in self._rungs]

    def _insert(self, rung: int, value: float) -> bool:
        """Insert `value` before equal values and return whether it is among those that continue."""
        values = self._rungs[rung]
        place = bisect_left(values, value)
        values.insert(place, value)
        kept = max(self._ladder.kept(len(values)), 1)
        return place < (max(kept, len(values) // 2) if self._is_hurried else kept)


class Tournament(ResizableMethod):
    """Several brackets, the one with most rungs first. Each trial belongs to the bracket that requested it.

    The first bracket gets all the concurrency that it can use; concurrency that a bracket no longer needs goes to the
    first that does. So the bracket that finds good trials soonest is not delayed by those that guard against
    misleading early results, the order that Hyperband also uses (Li et al., JMLR 2018), and no concurrency is idle
    while trials are left. Determined gives each bracket a fixed equal share; `are_apart` does the same for searches
    started that way.
    """

    def __init__(
        self, brackets: Sequence[StoppingBracket | PromotionBracket], are_apart: bool = False
    ) -> None:
        self._brackets = tuple(brackets)
        self._are_apart = are_apart
        self._branches: dict[int, Branch] = {}
        self._made = [0] * len(self._brackets)

    def plan_start(self) -> list[SearchStep]:
        return [
            step
            for branch, bracket in enumerate(self._brackets)
            for step in _of(branch, bracket.plan_start())
        ]

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._branches[trial] = branch
        self._made[branch] += 1
        return self._brackets[branch].on_created(trial, 0)

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        return self._brackets[self._branches[trial]].on_result(trial, value, time)

    def on_parked(self, trial: int) -> list[SearchStep]:
        branch = self._branches[trial]
        return self._passed_on(branch, self._brackets[branch].on_parked(trial))

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        branch = self._branches[trial]
        self._made[branch] -= ending is TrialEnding.INVALID
        return self._passed_on(branch, self._brackets[branch].on_ended(trial, ending))

    def plan_more(self, count: int) -> list[StartTrial]:
        """Return trials of the first bracket that has any left, then of the next; one from each in turn if they are apart."""
        more: list[StartTrial] = []
        if not self._are_apart:
            for branch, bracket in enumerate(self._brackets):
                more += [StartTrial(branch)] * len(bracket.plan_more(count - len(more)))
            return more
        while len(more) < count:
            branches = [branch for branch, bracket in enumerate(self._brackets) if bracket.plan_more(1)]
            if not branches:
                break
            more += map(StartTrial, branches)
        return more

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Distribute the new total in the present proportions; each bracket keeps the trials that it has created."""
        shares = reshare_trials(max_trials, [bracket.planned() for bracket in self._brackets], self._made)
        return [
            step
            for branch, (bracket, share) in enumerate(zip(self._brackets, shares, strict=True))
            for step in _of(
                branch, bracket.resize(share, [start for start in waiting if start.branch == branch])
            )
        ]

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        return [
            step
            for branch, bracket in enumerate(self._brackets)
            for step in _of(branch, bracket.close([start for start in waiting if start.branch == branch]))
        ]

    def progress(self) -> float:
        shares = [bracket.progress() for bracket in self._brackets if bracket.planned()]
        return sum(shares) / len(shares)

    def planned(self) -> int:
        return sum(bracket.planned() for bracket in self._brackets)

    def _passed_on(self, branch: Branch, steps: list[SearchStep]) -> list[SearchStep]:
        """Return a bracket's steps, or if it leaves concurrency free, a trial of another bracket."""
        bracket = self._brackets[branch]
        if not steps and not self._are_apart and bracket.has_free_slot:
            more = self.plan_more(1)
            if more:
                bracket.release_slot()
            return [*more]
        return _of(branch, steps)


def _of(branch: Branch, steps: Iterable[SearchStep]) -> list[SearchStep]:
    """Return a bracket's steps, marked with its branch."""
    return [step if isinstance(step, ResumeTrial) else replace(step, branch=branch) for step in steps]
