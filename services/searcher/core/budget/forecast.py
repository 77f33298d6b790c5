"""Forecast the usage of trials from the trials that have come furthest and the share that continues at each rung.

A trial has reached time t and the next decision about it is at r. If one in d trials continues at each rung, and
rungs lie a factor d apart, the trial needs on average

    (r - t) + (r·d - r)/d + (r·d² - r·d)/d² + …      up to `max_time`

further units. A unit costs what it has cost the trials of this search on average. Where trials have no time
(`random`, `grid`), a trial costs the average of the ended trials.
"""

import math
from dataclasses import dataclass

from muster.config import ExperimentConfig, Timed
from services.searcher.core.budget.ledger import NOTHING, BudgetUsage


@dataclass(slots=True)
class TrialProgress:
    """Progress of a trial.

    Attributes:
        decide_at: Time of its next decision; None while it is paused.
        reached: Time of its last decision.
        used: Usage at its last decision; None: not counted.
    """

    decide_at: float | None
    reached: float = 0.0
    used: BudgetUsage | None = NOTHING


class Forecast:
    """Usage statistics of trials. Forecasts are None until something is known."""

    def __init__(self, config: ExperimentConfig) -> None:
        searcher = config.searcher
        self._max_time = float(searcher.max_time) if isinstance(searcher, Timed) else None
        self._divisor = float(getattr(searcher, "divisor", 1.0))
        self._time = 0.0
        self._used = NOTHING
        self._configured = _configured(config)

    @property
    def whole(self) -> BudgetUsage | None:
        """Usage of a fully trained trial."""
        if self._time <= 0:
            return self._configured
        return _times(self._used, (self._max_time or 1.0) / self._time)

    def on_reached(self, course: TrialProgress, time: float, used: BudgetUsage | None) -> None:
        """Record that a trial reached a decision with this usage. None means that usage is not counted."""
        if self._max_time is None or time <= course.reached:
            return
        if used is not None and course.used is not None:
            self._time += time - course.reached
            self._used += _times(course.used, -1.0) + used
        course.reached, course.used = time, used

    def on_finished(self, used: BudgetUsage) -> None:
        """Record the usage of a trial that finished, where trials have no time."""
        if self._max_time is None:
            self._time += 1.0
            self._used += used

    def ahead(self, course: TrialProgress, used: BudgetUsage = NOTHING) -> BudgetUsage | None:
        """Return the average remaining usage of a trial that continues, or of one that is still to be created."""
        return self._left(self._units(course), course, used)

    def next(self, course: TrialProgress, used: BudgetUsage = NOTHING) -> BudgetUsage | None:
        """Return the usage until the trial's next decision."""
        if course.decide_at is None:
            return self.ahead(course, used)
        return self._left(course.decide_at - course.reached, course, used)

    def paused(self, reached: float) -> BudgetUsage | None:
        """Return the expected usage of a trial paused at `reached`, weighted by its chance to continue."""
        if self._max_time is None or reached >= self._max_time:
            return None
        ahead = self.ahead(TrialProgress(self._rung_after(reached), reached))
        return None if ahead is None else _times(ahead, 1.0 / self._divisor)

    def _left(self, units: float, course: TrialProgress, used: BudgetUsage) -> BudgetUsage | None:
        whole = self.whole
        if whole is None:
            return None
        due = _times(whole, units / (self._max_time or 1.0))
        since = NOTHING if course.used is None else used + _times(course.used, -1.0)
        return BudgetUsage(
            max(0.0, due.wall_ms - since.wall_ms),
            max(0.0, due.slot_ms - since.slot_ms),
            max(0.0, due.cost - since.cost),
        )

    def _units(self, course: TrialProgress) -> float:
        if self._max_time is None:
            return 1.0
        if course.decide_at is None or self._divisor <= 1:
            return max(0.0, self._max_time - course.reached)
        at, units = course.decide_at, max(0.0, course.decide_at - course.reached)
        chance = 1.0 / self._divisor
        while at < self._max_time:
            further = self._rung_after(at)
            units += (further - at) * chance
            at, chance = further, chance / self._divisor
        return units

    def _rung_after(self, time: float) -> float:
        return min(max(time * self._divisor, time + 1), self._max_time or math.inf)


def _configured(config: ExperimentConfig) -> BudgetUsage | None:
    budget = config.budget
    if budget is None or budget.trial_s is None:
        return None
    wall_ms = budget.trial_s * 1000
    return BudgetUsage(wall_ms, wall_ms * config.slots_held)


def _times(used: BudgetUsage, factor: float) -> BudgetUsage:
    return BudgetUsage(used.wall_ms * factor, used.slot_ms * factor, used.cost * factor)
