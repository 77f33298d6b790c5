"""ASHA by promotion: every trial waits at its rung, and is trained on when it turns out to be among the best 1/divisor there.

Li et al., "A System for Massively Parallel Hyperparameter Tuning" (MLSys 2020), algorithm 2, as Determined had it before 0.38. A place
that comes free goes to the promotion furthest up, else to a new trial. A trial that is next itself goes on without leaving its place.
Of equal values the one that came first is the better: else all trials of a search whose values are equal would go on.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.searcher.core.methods.halving import Ladder
from services.searcher.core.methods.port import (
    NO_DECISION,
    Branch,
    ResizableMethod,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
    rung_decision,
)

WORST = math.inf

Placing = tuple[float, int]
"""A value at a rung, and how many came there before it; smaller is better."""


@dataclass(slots=True)
class _Runner:
    """Where a trial stands: the rung that decides next, its placing there once it has paused, and whether it has left its place; `placed`
    are its placings at rungs, from the lowest up."""

    rung: int = 0
    held: Placing | None = None
    is_parked: bool = False
    is_out: bool = False
    placed: list[Placing] = field(default_factory=list)


@dataclass(slots=True)
class _Rung:
    """The placings seen there, best first; `waiting` are the trials that are parked there, with theirs. Before rules 4 `are_ties_alike`."""

    are_ties_alike: bool
    seen: list[Placing] = field(default_factory=list)
    waiting: list[tuple[Placing, int]] = field(default_factory=list)
    came: int = 0

    def enter(self, value: float) -> Placing:
        """Have one more value; return where it stands."""
        placing = (value, 0 if self.are_ties_alike else self.came)
        self.came += 1
        insort(self.seen, placing)
        return placing

    def withdraw(self, placing: Placing) -> None:
        """As if it had never come."""
        del self.seen[bisect_left(self.seen, placing)]

    def better_than(self, placing: Placing) -> int:
        return bisect_left(self.seen, placing)

    def leave(self, placing: Placing, trial: int) -> None:
        """A trial waits no longer; it is looked up by its place, since tens of thousands may wait and end together."""
        del self.waiting[bisect_left(self.waiting, (placing, trial))]


class PromotionBracket(ResizableMethod):
    """One bracket: `targets` are the times of its rungs, rising; `places` of `max_trials` are trained at once.

    `are_ties_alike`, for searches begun so: of equal values all go on that one may.
    """

    def __init__(
        self,
        targets: Sequence[int],
        max_trials: int,
        places: int,
        divisor: float,
        are_ties_alike: bool = False,
    ) -> None:
        self._ladder = Ladder(targets, divisor)
        self._targets = self._ladder.targets
        self._rungs = [_Rung(are_ties_alike) for _ in targets]
        self._runners: dict[int, _Runner] = {}
        self._max_trials = max_trials
        self._places = places
        self._requested = self._busy = min(places, max_trials)
        self._ended = 0
        self._is_hurried = False

    def plan_start(self) -> list[SearchStep]:
        return [StartTrial()] * self._requested

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._runners[trial] = _Runner()
        return float(self._targets[0])

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Pass rungs upward while `time` reaches them and the trial is the next to go on."""
        runner = self._runners[trial]
        if runner.is_out or runner.held is not None:
            return NO_DECISION
        counted: list[float] = []
        while time >= self._targets[runner.rung]:
            counted.append(float(self._targets[runner.rung]))
            if self._ladder.is_top(runner.rung):
                runner.is_out = True
                return rung_decision(counted, None, stop=True, at_top=True)
            rung = self._rungs[runner.rung]
            placing = rung.enter(value)
            runner.placed.append(placing)
            insort(rung.waiting, (placing, trial))
            if self._promotable() != trial:
                rung.leave(placing, trial)
                runner.held = placing
                return rung_decision(counted, None, pause=True)
            self._promote(trial)
        return rung_decision(counted, float(self._targets[runner.rung]))

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Fill the place that a paused trial has left."""
        runner = self._runners[trial]
        assert runner.held is not None
        insort(self._rungs[runner.rung].waiting, (runner.held, trial))
        runner.is_parked = True
        self._busy -= 1
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Fill the place that a trial leaves; one that failed or was cancelled takes the worst place of its rung, an invalid one leaves
        its rungs."""
        runner = self._runners[trial]
        rung = self._rungs[runner.rung]
        if runner.is_parked:
            assert runner.held is not None
            rung.leave(runner.held, trial)
        else:
            self._busy -= 1
            is_worst = ending in (TrialEnding.FAILED, TrialEnding.CANCELLED)
            if is_worst and not runner.is_out and runner.held is None:
                rung.enter(WORST)
        runner.is_out, runner.is_parked = True, False
        if ending is TrialEnding.INVALID:
            self._withdraw(runner)
        else:
            self._ended += 1
        return self._filled()

    def plan_more(self, count: int) -> list[StartTrial]:
        more = min(count, self._max_trials - self._requested)
        self._requested += more
        self._busy += more
        self._places = max(self._places, self._busy)
        return [StartTrial()] * more

    @property
    def has_free_place(self) -> bool:
        return self._busy < self._places

    def lend_place(self) -> None:
        """Have one place less from now on."""
        self._places -= 1

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        self._max_trials, self._is_hurried = max_trials, False
        self._requested -= len(waiting)
        self._busy -= len(waiting)
        return self._filled()

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """From now on a free place goes to the best that waits furthest up, where the rule has none go on."""
        self._requested -= len(waiting)
        self._busy -= len(waiting)
        self._max_trials, self._is_hurried = self._requested, True
        return self._filled()

    def progress(self) -> float:
        """Return the bottom rung's share of 1.2 times the trials, then ended trials, as by stopping."""
        if self._ended >= self._max_trials:
            return 1.0
        return min(len(self._rungs[0].seen) / (1.2 * self._max_trials), 1.0)

    def planned(self) -> int:
        return self._max_trials

    def _filled(self) -> list[SearchStep]:
        steps: list[SearchStep] = []
        while self._busy < self._places:
            if (trial := self._promotable()) is not None:
                self._promote(trial)
                steps.append(ResumeTrial(trial, float(self._targets[self._runners[trial].rung])))
            elif self._requested < self._max_trials:
                self._requested += 1
                steps.append(StartTrial())
            else:
                break
            self._busy += 1
        return steps

    def _withdraw(self, runner: _Runner) -> None:
        """As if it had never been asked for."""
        self._requested -= 1
        for rung, placing in zip(self._rungs, runner.placed, strict=False):
            rung.withdraw(placing)

    def _promotable(self) -> int | None:
        """The trial that goes on next: the best that waits at the highest rung where one is among the best 1/divisor."""
        for rung in reversed(self._rungs[:-1]):
            if rung.waiting:
                placing, trial = rung.waiting[0]
                if rung.better_than(placing) < self._ladder.kept(len(rung.seen)):
                    return trial
        if self._is_hurried:
            waiting = (rung.waiting[0][1] for rung in reversed(self._rungs[:-1]) if rung.waiting)
            return next(waiting, None)
        return None

    def _promote(self, trial: int) -> None:
        runner = self._runners[trial]
        self._rungs[runner.rung].waiting.pop(0)
        runner.rung += 1
        runner.held, runner.is_parked = None, False
