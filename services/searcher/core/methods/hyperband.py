"""Hyperband: brackets of synchronous successive halving, from many short trials to few long ones.

Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization" (JMLR 18, 2018), algorithm 1: of the n trials at a rung
the best n / divisor go on, once all of them are there. We decide about a trial as soon as the outcome is certain, whatever the others will
come to: so the same trials go on as in the paper, but a loser ends without waiting, and a winner goes on. Who has to wait pauses. Brackets
are run side by side: a free place goes to the first that has something to do, a trial that goes on before a new one.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.config import Hyperband as Config
from muster.config.brackets import bracket_sizes
from services.searcher.core.methods.halving import rung_targets
from services.searcher.core.methods.port import (
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
"""A trial's value at a rung, and its number: of equal ones the earlier is better."""


@dataclass(slots=True)
class _Rung:
    """Where all of `planned` trials are compared at `target`: those that `came` and were not stopped there, best first; those of them that
    `wait`; and how many were `lost`: stopped there, or on the way."""

    target: int
    planned: int
    came: list[RungResult] = field(default_factory=list)
    wait: list[RungResult] = field(default_factory=list)
    lost: int = 0


@dataclass(slots=True)
class _Runner:
    """The rung that a trial is on its way to; what it came to at those that it has passed, and where it pauses; whether it has left its
    place; whether it is over."""

    rung: int = 0
    passed: list[float] = field(default_factory=list)
    held: float | None = None
    is_parked: bool = False
    is_out: bool = False


class _Bracket:
    """One bracket: of all `sizes[0]` trials, `sizes[i]` reach rung i. It knows nothing of places."""

    def __init__(self, targets: Sequence[int], sizes: Sequence[int]) -> None:
        self._rungs = [_Rung(target, size) for target, size in zip(targets, sizes, strict=True)]
        self._runners: dict[int, _Runner] = {}
        self._requested = 0
        self._unmade = 0

    @property
    def trials(self) -> int:
        """How many it makes in all."""
        return self._rungs[0].planned

    def create(self, trial: int) -> float:
        """Take in a new trial; return when its first rung is."""
        self._runners[trial] = _Runner()
        return float(self._rungs[0].target)

    def judge(self, trial: int, value: float, time: float) -> RungDecision:
        """Pass rungs upward while `time` reaches them and it is certain that the trial goes on."""
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
                return rung_decision(counted, None, stop=True, at_top=is_at_top)
            self._pass(runner, value)
        return rung_decision(counted, float(self._rungs[runner.rung].target))

    def park(self, trial: int) -> None:
        """Take in that a trial has left its place."""
        runner = self._runners[trial]
        assert runner.held is not None
        runner.is_parked = True
        insort(self._rungs[runner.rung].wait, (runner.held, trial))

    def end(self, trial: int, ending: TrialEnding) -> bool:
        """Take in a trial's end; return whether it had a place.

        One that was on its way to a rung, or waited there, is lost to it, which is as good as the worst place. An invalid one leaves
        its rungs, and another is made.
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
        """Return what to do with a free place, which is done then."""
        for index in reversed(range(len(self._rungs) - 1)):
            wait = self._rungs[index].wait
            if wait and self._fate(index, wait[0]):
                return self._let_go_on(wait.pop(0)[1])
        if self._requested < self.trials:
            self._requested += 1
            return StartTrial(branch)
        return None

    def close(self, unmade: int) -> None:
        """Take in that trials which were asked for will not be made, nor those that were not: they are lost to the first rung."""
        unmade += self.trials - self._requested
        self._unmade += unmade
        self._rungs[0].lost += unmade
        self._requested = self.trials

    def reopen(self) -> None:
        """Take in that they are made after all; who went on because there were fewer stays."""
        self._rungs[0].lost -= self._unmade
        self._requested -= self._unmade
        self._unmade = 0

    def units(self) -> tuple[float, float]:
        """Return what was trained of the time metric up to the rungs, or will never be, and what was planned."""
        done = planned = below = 0.0
        for rung in self._rungs:
            done += (rung.target - below) * (len(rung.came) + rung.lost)
            planned += (rung.target - below) * rung.planned
            below = rung.target
        return done, planned

    def _let_go_on(self, trial: int) -> ResumeTrial:
        runner = self._runners[trial]
        self._pass(runner, runner.held or 0.0)
        runner.held, runner.is_parked = None, False
        return ResumeTrial(trial, float(self._rungs[runner.rung].target))

    def _pass(self, runner: _Runner, value: float) -> None:
        runner.passed.append(value)
        runner.rung += 1

    def _fate(self, index: int, standing: RungResult) -> bool | None:
        """Whether a trial goes on from a rung: None while that depends on those that are still to come."""
        rung, coming = self._rungs[index], self._coming(index)
        kept = min(self._rungs[index + 1].planned, coming)
        better = bisect_left(rung.came, standing)
        if better >= kept:
            return False
        return True if better + coming - len(rung.came) < kept else None

    def _coming(self, index: int) -> int:
        """How many come to a rung in all, as far as is known: fewer than planned where too many below are lost."""
        coming = self.trials
        for rung in self._rungs[: index + 1]:
            coming = min(rung.planned, coming) - rung.lost
        return coming


class Hyperband(FixedSizeMethod):
    """All brackets once."""

    def __init__(self, config: Config) -> None:
        self._brackets = [
            _Bracket(rung_targets(config.max_time, config.divisor, len(sizes)), sizes)
            for sizes in bracket_sizes(config.max_time, config.min_time, config.divisor)
        ]
        self._branches: dict[int, Branch] = {}
        self._places: float = config.max_concurrent_trials or math.inf
        self._busy = 0

    def plan_start(self) -> list[SearchStep]:
        return self._filled()

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._branches[trial] = branch
        return self._brackets[branch].create(trial)

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        return self._bracket(trial).judge(trial, value, time)

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Fill the place that a paused trial has left."""
        self._bracket(trial).park(trial)
        self._busy -= 1
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Fill the place that a trial leaves. None but an invalid one is replaced: all that are planned are made."""
        self._busy -= self._bracket(trial).end(trial, ending)
        return self._filled()

    def plan_more(self, count: int) -> list[SearchStep]:
        self._places = max(self._places, self._busy + count)
        return self._filled()

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Who waits for trials that are not made is compared with those that are there."""
        for branch, bracket in enumerate(self._brackets):
            bracket.close(sum(start.branch == branch for start in waiting))
        self._busy -= len(waiting)
        return self._filled()

    def reopen(self, planned: int) -> list[SearchStep]:
        """Make the trials that were not made, and compare all again."""
        for bracket in self._brackets:
            bracket.reopen()
        return self._filled()

    def progress(self) -> float:
        """Return the share of the planned training that is done, or will never be."""
        units = [bracket.units() for bracket in self._brackets]
        return min(1.0, sum(done for done, _ in units) / sum(planned for _, planned in units))

    def planned(self) -> int:
        return sum(bracket.trials for bracket in self._brackets)

    def _bracket(self, trial: int) -> _Bracket:
        return self._brackets[self._branches[trial]]

    def _filled(self) -> list[SearchStep]:
        steps: list[SearchStep] = []
        for branch, bracket in enumerate(self._brackets):
            while self._busy < self._places and (step := bracket.next_step(branch)) is not None:
                self._busy += 1
                steps.append(step)
        return steps
