"""ASHA with promotion: every trial pauses at its rung and is resumed once it is among the best 1/divisor there.

Li et al., "A System for Massively Parallel Hyperparameter Tuning" (MLSys 2020), algorithm 2, as in Determined before
0.38. Free concurrency goes to the highest promotion, otherwise to a new trial. A trial that is itself the next
promotion continues without pausing. Of equal values the first to arrive ranks better; otherwise all trials of a
search with equal values would continue.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.searcher.core.methods.halving import Ladder
from services.searcher.core.methods.interface import (
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
class _PromotionTrial:
    """Progress of a trial.

    Attributes:
        rung: The rung that decides next.
        held: Its rank entry there if it pauses.
        is_parked: Whether it has been paused.
        placed: Its rank entries at rungs, from the lowest up.
    """

    rung: int = 0
    held: Placing | None = None
    is_parked: bool = False
    is_out: bool = False
    placed: list[Placing] = field(default_factory=list)


@dataclass(slots=True)
class _Rung:
    """A rung with all rank entries seen there, best first. `waiting` are the paused trials. `are_ties_alike` holds before rules 4."""

    are_ties_alike: bool
    seen: list[Placing] = field(default_factory=list)
    waiting: list[tuple[Placing, int]] = field(default_factory=list)
    came: int = 0

    def enter(self, value: float) -> Placing:
        """Add a value and return its rank entry."""
        placing = (value, 0 if self.are_ties_alike else self.came)
        self.came += 1
        insort(self.seen, placing)
        return placing

    def withdraw(self, placing: Placing) -> None:
        """Remove a rank entry as if it had never been added."""
        del self.seen[bisect_left(self.seen, placing)]

    def better_than(self, placing: Placing) -> int:
        return bisect_left(self.seen, placing)

    def leave(self, placing: Placing, trial: int) -> None:
        """Remove a trial from the paused ones. Lookup is by rank entry, because tens of thousands of trials may pause and end together."""
        del self.waiting[bisect_left(self.waiting, (placing, trial))]


class PromotionBracket(ResizableMethod):
    """One bracket. `targets` are the times of its rungs, ascending; `concurrency` of `max_trials` trials run at once.

    `are_ties_alike`, for searches started that way: of equal values all continue if one may.
    """

    def __init__(
        self,
        targets: Sequence[int],
        max_trials: int,
        concurrency: int,
        divisor: float,
        are_ties_alike: bool = False,
    ) -> None:
        self._ladder = Ladder(targets, divisor)
        self._targets = self._ladder.targets
        self._rungs = [_Rung(are_ties_alike) for _ in targets]
        self._runners: dict[int, _PromotionTrial] = {}
        self._max_trials = max_trials
        self._concurrency = concurrency
        self._requested = self._busy = min(concurrency, max_trials)
        self._ended = 0
        self._is_hurried = False

    def plan_start(self) -> list[SearchStep]:
        return [StartTrial()] * self._requested

    def on_created(self, trial: int, branch: Branch) -> float | None:
        self._runners[trial] = _PromotionTrial()
        return float(self._targets[0])

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Pass rungs upward while `time` reaches them and the trial is the next promotion."""
        runner = self._runners[trial]
        if runner.is_out or runner.held is not None:
            return NO_DECISION
        counted: list[float] = []
        while time >= self._targets[runner.rung]:
            counted.append(float(self._targets[runner.rung]))
            if self._ladder.is_top(runner.rung):
                runner.is_out = True
                return rung_decision(counted, None, stop=True, reached_max_time=True)
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
        """Use the concurrency that a paused trial has freed."""
        runner = self._runners[trial]
        assert runner.held is not None
        insort(self._rungs[runner.rung].waiting, (runner.held, trial))
        runner.is_parked = True
        self._busy -= 1
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Use the concurrency that a trial frees. A failed or cancelled trial ranks worst at its rung; an invalid one is removed."""
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
        self._concurrency = max(self._concurrency, self._busy)
        return [StartTrial()] * more

    @property
    def has_free_slot(self) -> bool:
        return self._busy < self._concurrency

    def release_slot(self) -> None:
        """Reduce the bracket's concurrency by one."""
        self._concurrency -= 1

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        self._max_trials, self._is_hurried = max_trials, False
        self._requested -= len(waiting)
        self._busy -= len(waiting)
        return self._filled()

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Finish with the trials that exist.

        Free concurrency goes to the best paused trial at the highest rung, even if no promotion is due.
        """
        self._requested -= len(waiting)
        self._busy -= len(waiting)
        self._max_trials, self._is_hurried = self._requested, True
        return self._filled()

    def progress(self) -> float:
        """Return the results at the lowest rung relative to 1.2 times the trials; 1 once all trials have ended."""
        if self._ended >= self._max_trials:
            return 1.0
        return min(len(self._rungs[0].seen) / (1.2 * self._max_trials), 1.0)

    def planned(self) -> int:
        return self._max_trials

    def _filled(self) -> list[SearchStep]:
        steps: list[SearchStep] = []
        while self._busy < self._concurrency:
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

    def _withdraw(self, runner: _PromotionTrial) -> None:
        """Remove a trial as if it had never been requested."""
        self._requested -= 1
        for rung, placing in zip(self._rungs, runner.placed, strict=False):
            rung.withdraw(placing)

    def _promotable(self) -> int | None:
        """Return the next promotion: the best paused trial at the highest rung that has one among the best 1/divisor."""
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
