"""Enforce the budget of a search: whether it covers another trial, and when its trials must stop.

Time comes from the journal (milliseconds since 1970), so that a replay makes the same decisions. Until the usage of a
trial is known, each trial is estimated at a sixteenth of the budget. After that, `forecast` estimates it. A trial
starts if the rest of the budget covers, on average, what all open trials still need and the new one; with a deadline,
only if the new trial could be fully trained before it. Near the limit, trials are asked to stop early enough to save;
those still running shortly before it are killed.
"""

from dataclasses import replace

from muster.config import ExperimentConfig
from services.searcher.core.budget.forecast import Forecast, TrialProgress
from services.searcher.core.budget.ledger import (
    HOUR_MS,
    BudgetUsage,
    Ledger,
    LedgerOpening,
    Prices,
    SlotUsage,
)
from services.searcher.core.budget.limits import BudgetLimits, Limit
from services.searcher.core.budget.stop_margin import StopMargin, to_end, to_stop
from services.searcher.core.editing import SearchEdit
from shared.ids import PoolName

UNKNOWN_SHARE = 16
"""Until the usage of a trial is known, it is estimated at this fraction (1/16) of the budget."""


class SearchSpending:
    """Usage and remaining budget of a search; the journal's events advance it.

    Without a budget nothing is counted until the search is given one.
    """

    rules = 2
    """Rules version under which the search was started; saved states from before the attribute existed lack it."""

    def __init__(self, config: ExperimentConfig) -> None:
        self.is_counting = config.budget is not None
        self.limits = BudgetLimits()
        self.now_ms = 0
        self._config = config
        self._ledger = Ledger()
        self._forecast = Forecast(config)
        self._open: dict[int, TrialProgress] = {}
        self._paused: dict[int, TrialProgress] = {}
        self._rungs: dict[float, int] = {}
        self._reached: dict[int, float] = {}
        self._firsts: dict[int, float | None] = {}
        self._asked_ms: dict[int, int] = {}
        self._slowest_ms = 0.0
        self._began_ms = 0
        self._price = 0.0

    def begin(self, limits: BudgetLimits, price: float) -> None:
        """Start counting with these limits. `price` is the price of a slot for an hour until a run is granted."""
        self.limits, self._began_ms, self._price = limits, self.now_ms, price

    def open(self, opening: LedgerOpening) -> None:
        """Start counting in a search that was started without a budget."""
        self.is_counting, self.now_ms = True, opening.now_ms
        self._began_ms, self._price = opening.now_ms, opening.price
        self._ledger = Ledger(opening.past, opening.accounts)

    def edited(self, edit: SearchEdit, opening: LedgerOpening | None = None) -> BudgetLimits:
        """Return the limits after an edit. `opening` is given if nothing was counted before.

        Raises Rejected if one of the new limits has already been reached.
        """
        limits = self.limits.edited(edit)
        if edit.is_of_budget:
            used, now_ms = (self.used, self.now_ms) if opening is None else (opening.used, opening.now_ms)
            limits.check(used, now_ms)
        return limits

    @property
    def used(self) -> BudgetUsage:
        """Usage of its runs so far."""
        return self._ledger.used(self.now_ms)

    # --- events

    def advance_time(self, now_ms: int) -> None:
        """Advance the clock to `now_ms`; it never goes back."""
        self.now_ms = max(self.now_ms, now_ms)

    def is_change(self, trial: int, run: int, holding: SlotUsage) -> bool:
        return self._ledger.is_change(trial, run, holding)

    def on_holding(self, trial: int, run: int, holding: SlotUsage) -> None:
        """Record what a run holds or has held."""
        self._ledger.take(trial, run, holding)
        self._price = holding.price
        asked_ms = self._asked_ms.pop(trial, None) if holding.until_ms is not None else None
        if asked_ms is not None and holding.until_ms is not None:
            self._slowest_ms = max(self._slowest_ms, holding.until_ms - asked_ms)

    def repriced_pools(self, prices: Prices) -> list[PoolName]:
        """Return the pools whose price differs from the one at which its runs hold slots there."""
        return self._ledger.repriced_pools(prices)

    def on_price(self, pool: PoolName, price: float) -> None:
        """Count the slots held in a pool at this price from now on."""
        self._ledger.price(pool, price, self.now_ms)
        self._price = price

    def on_created(self, trial: int, branch: int, decide_at: float | None, source: int | None = None) -> None:
        """Record a new trial. `source` is the trial whose newest checkpoint it starts from."""
        self._open[trial] = TrialProgress(decide_at, self._reached.get(source or 0, 0.0))
        self._firsts[branch] = decide_at

    def on_decision(self, trial: int, time: float, decide_at: float | None, is_leaving: bool) -> None:
        """Record a decision. A trial that is to stop or pause (`is_leaving`) releases its slots once it has saved."""
        course = self._open.get(trial)
        if course is None:
            return
        self._forecast.on_reached(
            course, time, self._ledger.of(trial, self.now_ms) if self.is_counting else None
        )
        self._reached[trial] = course.reached
        course.decide_at = decide_at
        if is_leaving and self.is_counting:
            self._asked_ms.setdefault(trial, self.now_ms)

    def on_parked(self, trial: int) -> None:
        """Record that a trial has been paused and has released its slots."""
        course = self._paused[trial] = self._open.pop(trial)
        self._rungs[course.reached] = self._rungs.get(course.reached, 0) + 1

    def on_resumed(self, trial: int, decide_at: float | None) -> None:
        """Record that a paused trial continues."""
        course = self._open[trial] = self._paused.pop(trial)
        self._rungs[course.reached] -= 1
        course.decide_at = decide_at

    def on_ended(self, trial: int, is_finished: bool) -> None:
        """Record the end of a trial. Only a trial that `is_finished` improves the forecast."""
        self._open.pop(trial, None)
        if (course := self._paused.pop(trial, None)) is not None:
            self._rungs[course.reached] -= 1
        if is_finished and self.is_counting:
            self._forecast.on_finished(self._ledger.of(trial, self.now_ms))

    # --- what the budget covers

    def can_afford_start(self, branch: int, source: int | None = None) -> bool:
        """Whether the budget covers another trial of this branch. `source` is the trial whose newest checkpoint it starts from."""
        reached = self._reached.get(source or 0, 0.0)
        ahead = self._forecast.ahead(TrialProgress(None if reached else self._firsts.get(branch), reached))
        if ahead is None:
            return not self.is_too_late and self._share() + self._committed() <= self._left()
        is_in_time = self._is_before_deadline(ahead.wall_ms) if reached else not self.is_too_late
        return is_in_time and ahead.slot_ms + self._committed() <= self._left()

    def can_afford_resume(self, trial: int, decide_at: float | None) -> bool:
        """Whether the budget covers a paused trial up to its next decision."""
        course = self._paused[trial]
        used = self._ledger.of(trial, self.now_ms)
        ahead = self._forecast.next(replace(course, decide_at=decide_at), used)
        if ahead is None:
            return True
        is_in_time = self._is_before_deadline(ahead.wall_ms)
        return is_in_time and ahead.slot_ms + self._committed(to_next=True) <= self._left()

    @property
    def is_too_late(self) -> bool:
        """Whether a trial that starts now could not be fully trained before the deadline."""
        whole = self._forecast.whole
        if whole is None:
            deadline_ms = self.limits.deadline_ms or 0
            return not self._is_before_deadline((deadline_ms - self._began_ms) / UNKNOWN_SHARE)
        return not self._is_before_deadline(whole.wall_ms)

    @property
    def tightest(self) -> Limit:
        """The limit that leaves the least."""
        if self.is_too_late:
            return "deadline"
        by_limit = self._left_by()
        return min(by_limit, key=lambda limit: by_limit[limit], default="deadline")

    # --- when trials must stop

    def due_ms(self, is_stopping: bool) -> int | None:
        """Return when trials must be asked to stop, or be killed if they are already stopping. None: no limit comes closer at present."""
        times = self._due(is_stopping)
        return min(times.values(), default=None)

    def reached(self, is_stopping: bool = False) -> Limit | None:
        """Return the limit for which that time has come."""
        times = self._due(is_stopping)
        passed = [limit for limit in times if times[limit] <= self.now_ms]
        return min(passed, key=lambda limit: times[limit], default=None)

    def _due(self, is_stopping: bool) -> dict[Limit, int]:
        found: dict[Limit, int] = {}
        limits, used = self.limits, self.used
        notice = to_end(self.rules) if is_stopping else self._to_stop
        rates: dict[Limit, tuple[float | None, float, float]] = {
            "slot_hours": (limits.slot_hours, used.slot_ms / HOUR_MS, self._ledger.slots / HOUR_MS),
            "cost": (limits.cost, used.cost, self._ledger.cost_per_ms),
        }
        for limit, (all_of_it, spent, rate) in rates.items():
            if all_of_it is None or (rate <= 0 and spent < all_of_it):
                continue
            left = all_of_it - notice.of(all_of_it, rate) - spent
            found[limit] = self.now_ms + max(0, int(left / rate) if rate else 0)
        if limits.deadline_ms is not None:
            span_ms = max(0, limits.deadline_ms - self._began_ms)
            found["deadline"] = limits.deadline_ms - round(notice.of(span_ms))
        return found

    # --- estimates

    @property
    def _to_stop(self) -> StopMargin:
        return to_stop(self._slowest_ms, self._config.preemption_timeout * 1000, self.rules)

    def _is_before_deadline(self, wall_ms: float) -> bool:
        deadline_ms = self.limits.deadline_ms
        if deadline_ms is None:
            return True
        return self.now_ms + wall_ms <= self._due(is_stopping=False)["deadline"]

    def _left_by(self) -> dict[Limit, float]:
        """Slot-milliseconds that each limit leaves, minus the margin for stopping."""
        used, notice, slots = self.used, self._to_stop, self._ledger.slots
        spent = {"slot_hours": used.slot_ms, "cost": used.cost / (self._price or 1.0) * HOUR_MS}
        return {
            limit: whole - spent[limit] - notice.of(whole, slots) for limit, whole in self._whole_by().items()
        }

    def _left(self) -> float:
        return min(self._left_by().values(), default=float("inf"))

    def _share(self) -> float:
        """Estimate, in slot-milliseconds, for a trial whose usage is unknown."""
        return min(self._whole_by().values(), default=0.0) / UNKNOWN_SHARE

    def _whole_by(self) -> dict[Limit, float]:
        """Total slot-milliseconds that each limit allows at the present price."""
        limits, found = self.limits, dict[Limit, float]()
        if limits.slot_hours is not None:
            found["slot_hours"] = limits.slot_hours * HOUR_MS
        if limits.cost is not None and self._price > 0:
            found["cost"] = limits.cost / self._price * HOUR_MS
        return found

    def _committed(self, to_next: bool = False) -> float:
        """Slot-milliseconds that existing trials still need: open trials, and paused trials weighted by their chance to continue."""
        total, share = 0.0, self._share()
        for trial, course in self._open.items():
            used = self._ledger.of(trial, self.now_ms)
            ahead = self._forecast.next(course, used) if to_next else self._forecast.ahead(course, used)
            total += max(0.0, share - used.slot_ms) if ahead is None else ahead.slot_ms
        return total if to_next else total + self._promised()

    def _promised(self) -> float:
        paused = ((count, self._forecast.paused(reached)) for reached, count in self._rungs.items() if count)
        return sum(count * ahead.slot_ms for count, ahead in paused if ahead is not None)
