"""Limits of a budget: how edits change them, and the reasons shown when one is reached."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from muster.config import ExperimentConfig
from services.searcher.core.budget.ledger import HOUR_MS, BudgetUsage
from services.searcher.core.editing import SearchEdit
from shared.errors import Rejected

_RAISE = "raise the limit, or train each trial for less time and lower budget.trial_s"
Limit = Literal["slot_hours", "cost", "deadline"]


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """Current limits of the budget. None means no limit. The deadline is in milliseconds since 1970."""

    slot_hours: float | None = None
    cost: float | None = None
    deadline_ms: int | None = None

    def edited(self, edit: SearchEdit) -> "BudgetLimits":
        """Return the limits after an edit."""
        lifted = edit.lifted
        return BudgetLimits(
            None if "slot_hours" in lifted else _given(edit.slot_hours, self.slot_hours),
            None if "cost" in lifted else _given(edit.cost, self.cost),
            None if "deadline" in lifted else edit.deadline_ms or self.deadline_ms,
        )

    def check(self, used: BudgetUsage, now_ms: int) -> None:
        """Raise Rejected if one of the limits has already been reached."""
        spent = used.slot_ms / HOUR_MS
        if self.slot_hours is not None and self.slot_hours <= spent:
            raise _passed("slot_hours", f"the search has already used {spent:.4g} slot-hours")
        if self.cost is not None and self.cost <= used.cost:
            raise _passed("cost", f"the search has already spent {used.cost:.4g}")
        if self.deadline_ms is not None and self.deadline_ms <= now_ms:
            raise _passed("deadline", f"the deadline {format_time(self.deadline_ms)} has already passed")


def limits_of(config: ExperimentConfig, submitted: datetime) -> BudgetLimits | None:
    """Return the limits of a search submitted at this time, or None if it has no budget."""
    budget = config.budget
    if budget is None:
        return None
    deadline = budget.deadline_at(submitted)
    return BudgetLimits(budget.slot_hours, budget.cost, None if deadline is None else millis(deadline))


def check_budget(config: ExperimentConfig, now: datetime, price: float) -> None:
    """Raise Rejected if the budget of a search submitted now does not cover one trial, as far as that is known.

    `price` is the price of a slot for an hour.
    """
    limits, trial_s = limits_of(config, now), config.budget.trial_s if config.budget else None
    if limits is None:
        return
    cost = (trial_s or 0.0) * config.slots_held / 3600 * price
    if limits.cost is not None and cost > limits.cost:
        raise Rejected(
            "budget_too_small",
            f"one trial costs {cost:.4g} at {price:g} per slot-hour, more than the limit {limits.cost:g}",
            "budget.cost",
            _RAISE,
        )
    if limits.deadline_ms is None:
        return
    left_s = (limits.deadline_ms - millis(now)) / 1000
    if left_s <= 0:
        raise Rejected(
            "budget_too_small",
            "the deadline has already passed",
            "budget.deadline",
            "set a later time, or a duration from the submission such as 36h",
        )
    if trial_s is not None and trial_s > left_s:
        raise Rejected(
            "budget_too_small",
            f"one trial takes {trial_s:g} s, but the deadline is in {left_s:.0f} s",
            "budget.deadline",
            _RAISE,
        )


def limit_reason(limit: Limit, limits: BudgetLimits, is_used_up: bool) -> str:
    """Return the reason for users why a limit ended the search.

    `is_used_up`: the rest of the limit is needed to stop running trials; otherwise it does not cover another trial.
    """
    if limit == "deadline" and limits.deadline_ms is not None:
        deadline = format_time(limits.deadline_ms)
        if is_used_up:
            reason = f"running trials need the time left until {deadline} to save and stop"
        else:
            reason = f"the time left until {deadline} is too short for another trial"
    else:
        whole = f"{limits.cost:g}" if limit == "cost" else f"{limits.slot_hours:g} slot-hours"
        if is_used_up:
            reason = f"the limit of {whole} is used up, or reserved for stopping running trials"
        else:
            reason = f"the rest of {whole} does not pay for another trial"
    return f"budget.{limit}: {reason}"


def millis(at: datetime) -> int:
    """Return a time in milliseconds since 1970."""
    return round(at.timestamp() * 1000)


def from_millis(at_ms: int) -> datetime:
    """Return the time at so many milliseconds since 1970."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def format_time(at_ms: int) -> str:
    """Format a time for users."""
    return f"{from_millis(at_ms):%Y-%m-%d %H:%M} UTC"


def _given(new: float | None, old: float | None) -> float | None:
    return old if new is None else new


def _passed(place: str, message: str) -> Rejected:
    return Rejected(
        "budget_used",
        message,
        place,
        "set a higher limit or a later deadline, or finish the search with the best trial so far",
    )
