"""Hyperband: brackets of synchronous successive halving, from many short trials to few long ones.

Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization" (JMLR 18, 2018), algorithm 1: of
the n trials at a rung the best n / divisor continue once all of them are there. We decide about a trial as soon as
the outcome no longer depends on the other trials. The same trials continue as in the paper, but a losing trial stops
without waiting and a winning one continues at once; a trial that must wait is paused. Brackets run side by side: free
concurrency goes to the first bracket that has something to do, to a paused trial before a new one.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.config import Hyperband as Config
from muster.config.brackets import bracket_sizes
from services.searcher.core.methods.halving import rung_targets
from services.searcher.core.methods.interface import (
    NO_DECISION,
    Branch,
    FixedSizeMethod,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
    rung_decision,
)

RungResult = tuple[float, int]
"""A trial's value at a rung, and its number. Of equal values the earlier trial ranks better."""


@dataclass(slots=True)
class _Rung:
    """A rung, where trials are compared.

    Attributes:
        target: Time of the rung.
        planned: Number of trials to compare.
        came: Results of trials not stopped there, best first.
        wait: Those of them that are paused.
        lost: Number of trials stopped there or on the way.
    """

    target: int
    planned: int
    came: list[RungResult] = field(default_factory=list)
    wait: list[RungResult] = field(default_factory=list)
    lost: int = 0


@dataclass(slots=True)
class _HyperbandTrial:
    """Progress of a trial.

    Attributes:
        rung: Its next rung.
        passed: Its values at the rungs passed.
        held: The value at which it pauses.
        is_parked: Whether it has been paused.
        is_out: Whether it is over.
    """

    rung: int = 0
    passed: list[float] = field(default_factory=list)
    held: float | None = None
    is_parked: bool = False
    is_out: bool = False


class _Bracket:
    """One bracket: of all `sizes[0]` trials, `sizes[i]` reach rung i. It does not limit concurrency."""

    def __init__(self, targets: Sequence[int], sizes: Sequence[int]) -> None:
        self._rungs = [_Rung(target, size) for target, size in zip(targets, sizes, strict=True)]
        self._runners: dict[int, _HyperbandTrial] = {}
        self._requested = 0
        self._unmade = 0

    @property
    def trials(self) -> int:
        """Total number of trials."""
        return self._rungs[0].planned

    def create(self, trial: int) -> float:
        """Add a new trial and return the time of its first rung."""
        self._runners[trial] = _HyperbandTrial()
        return float(self._rungs[0].target)

    def judge(self, trial: int, value: float, time: float) -> RungDecision:
        """Pass rungs upward while `time` reaches them and it is certain that the trial continues."""
        runner = self._runners[trial]
        if runner.is_out or runner.held is not None:
            return NO_DECISION
        counted: list[float] = []
        while time >= self._rungs[runner.rung].target:
            rung = self._rungs[runner.rung]
            counted.append(float(rung.target))
            is_at_top = runner.rung == len(self._rungs) - 1
            insort(rung.came, (value, trial))
            fate = False if is_at_top else self._fate(runner.rung, (value, trial))
            if fate is None:
                runner.held = value
                return rung_decision(counted, None, pause=True)
            if not fate:
                rung.came.remove((value, trial))
                rung.lost += 1
                runner.is_out = True
                return rung_decision(counted, None, stop=True, reached_max_time=is_at_top)
            self._pass(runner, value)
        return rung_decision(counted, float(self._rungs[runner.rung].target))

    def park(self, trial: int) -> None:
        """Record that a trial has been paused."""
        runner = self._runners[trial]
        assert runner.held is not None
        runner.is_parked = True
        insort(self._rungs[runner.rung].wait, (runner.held, trial))

    def end(self, trial: int, ending: TrialEnding) -> bool:
        """Record a trial's end and return whether it was running.

        A trial that was on its way to a rung, or paused there, is lost to the rung, which equals the worst rank. An
        invalid trial is removed from its rungs and replaced.
        """
        runner = self._runners[trial]
        had_place = not runner.is_parked
        if runner.is_out:
            return had_place
        rung = self._rungs[runner.rung]
        if runner.held is not None:
            rung.came.remove((runner.held, trial))
        if runner.is_parked:
            rung.wait.remove((runner.held or 0.0, trial))
        runner.is_out = True
        if ending is not TrialEnding.INVALID:
            rung.lost += 1
            return had_place
        self._requested -= 1
        for rung, value in zip(self._rungs, runner.passed, strict=False):
            rung.came.remove((value, trial))
        return had_place

    def next_step(self, branch: Branch) -> SearchStep | None:
        """Return what to do with free concurrency, and mark it as done."""
        for index in reversed(range(len(self._rungs) - 1)):
            wait = self._rungs[index].wait
            if wait and self._fate(index, wait[0]):
                return self._resume(wait.pop(0)[1])
        if self._requested < self.trials:
            self._requested += 1
            return StartTrial(branch)
        return None

    def close(self, unmade: int) -> None:
        """Record that no further trials will be created, including `unmade` requested ones. They are lost to the first rung."""
        unmade += self.trials - self._requested
        self._unmade += unmade
        self._rungs[0].lost += unmade
        self._requested = self.trials

    def reopen(self) -> None:
        """Record that they will be created after all. Trials that continued because there were fewer stay."""
        self._rungs[0].lost -= self._unmade
        self._requested -= self._unmade
        self._unmade = 0

    def units(self) -> tuple[float, float]:
        """Return the training time that is done or will never happen, and the planned training time."""
        done = planned = below = 0.0
        for rung in self._rungs:
            done += (rung.target - below) * (len(rung.came) + rung.lost)
            planned += (rung.target - below) * rung.planned
            below = rung.target
        return done, planned

    def _resume(self, trial: int) -> ResumeTrial:
        runner = self._runners[trial]
        self._pass(runner, runner.held or 0.0)
        runner.held, runner.is_parked = None, False
        return ResumeTrial(trial, float(self._rungs[runner.rung].target))

    def _pass(self, runner: _HyperbandTrial, value: float) -> None:
        runner.passed.append(value)
        runner.rung += 1

    def _fate(self, index: int, result: RungResult) -> bool | None:
        """Whether a trial continues from a rung. None: that depends on trials still to come."""
        rung, coming = self._rungs[index], self._coming(index)
        kept = min(self._rungs[index + 1].planned, coming)
        better = bisect_left(rung.came, result)
        if better >= kept:
            return False
        return True if better + coming - len(rung.came) < kept else None

    def _coming(self, index: int) -> int:
        """Number of trials expected at a rung: fewer than planned if too many are lost below it."""
        coming = self.trials
        for rung in self._rungs[: index + 1]:
            coming = min(rung.planned, coming) - rung.lost
        return coming


class Hyperband(FixedSizeMethod):
    """One pass over all brackets."""

    def __init__(self, config: Config) -> None:
        self._brackets = [
            _Bracket(rung_targets(config.max_time, config.divisor, len(sizes)), sizes)
            for sizes in bracket_sizes(config.max_time, config.min_time, config.divisor)
        ]
        self._branches: dict[int, Branch] = {}
        self._concurrency: float = config.max_concurrent_trials or math.inf
        self._busy = 0

    def plan_start(self) -> list[SearchStep]:
        return self._filled()

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._branches[trial] = branch
        return self._brackets[branch].create(trial)

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        return self._bracket(trial).judge(trial, value, time)

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Use the concurrency that a paused trial has freed."""
        self._bracket(trial).park(trial)
        self._busy -= 1
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Use the concurrency that a trial frees. Only invalid trials are replaced, because all planned trials are created."""
        self._busy -= self._bracket(trial).end(trial, ending)
        return self._filled()

    def plan_more(self, count: int) -> list[SearchStep]:
        self._concurrency = max(self._concurrency, self._busy + count)
        return self._filled()

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Finish with the trials that exist: paused trials are compared among themselves."""
        for branch, bracket in enumerate(self._brackets):
            bracket.close(sum(start.branch == branch for start in waiting))
        self._busy -= len(waiting)
        return self._filled()

    def reopen(self, planned: int) -> list[SearchStep]:
        """Create the remaining trials and compare all trials again."""
        for bracket in self._brackets:
            bracket.reopen()
        return self._filled()

    def progress(self) -> float:
        """Return the share of the planned training that is done or will never happen."""
        units = [bracket.units() for bracket in self._brackets]
        return min(1.0, sum(done for done, _ in units) / sum(planned for _, planned in units))

    def planned(self) -> int:
        return sum(bracket.trials for bracket in self._brackets)

    def _bracket(self, trial: int) -> _Bracket:
        return self._brackets[self._branches[trial]]

    def _filled(self) -> list[SearchStep]:
        steps: list[SearchStep] = []
        for branch, bracket in enumerate(self._brackets):
            while self._busy < self._concurrency and (step := bracket.next_step(branch)) is not None:
                self._busy += 1
                steps.append(step)
        return steps
