"""What a budget says: its limits, how people change them, and what is said when one ends a search."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from muster.config import ExperimentConfig
from services.searcher.core.budget.ledger import HOUR_MS, BudgetUsage
from services.searcher.core.editing import SearchEdit
from shared.errors import Rejected

_RAISE = "give more, or have a trial train for less time and say so in budget.trial_s"
Limit = Literal["slot_hours", "cost", "deadline"]


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What the budget says now; None: no such limit. The deadline is a time, in milliseconds since 1970."""

    slot_hours: float | None = None
    cost: float | None = None
    deadline_ms: int | None = None

    def edited(self, edit: SearchEdit) -> "BudgetLimits":
        """Return the limits after a change."""
        lifted = edit.lifted
        return BudgetLimits(
            None if "slot_hours" in lifted else _given(edit.slot_hours, self.slot_hours),
            None if "cost" in lifted else _given(edit.cost, self.cost),
            None if "deadline" in lifted else edit.deadline_ms or self.deadline_ms,
        )

    def check(self, used: BudgetUsage, now_ms: int) -> None:
        """Raise Rejected where one of them is passed already."""
        spent = used.slot_ms / HOUR_MS
        if self.slot_hours is not None and self.slot_hours <= spent:
            raise _passed("slot_hours", f"{spent:.4g} slot-hours are used already")
        if self.cost is not None and self.cost <= used.cost:
            raise _passed("cost", f"{used.cost:.4g} is spent already")
        if self.deadline_ms is not None and self.deadline_ms <= now_ms:
            raise _passed("deadline", f"{format_time(self.deadline_ms)} has passed already")


def limits_of(config: ExperimentConfig, submitted: datetime) -> BudgetLimits | None:
    """Return the limits of a search that was submitted then; None where it has no budget."""
    budget = config.budget
    if budget is None:
        return None
    deadline = budget.deadline_at(submitted)
    return BudgetLimits(budget.slot_hours, budget.cost, None if deadline is None else millis(deadline))


def check_budget(config: ExperimentConfig, now: datetime, price: float) -> None:
    """Raise Rejected where the budget of a search that is submitted now bears not one trial, as far as that is known.

    `price`: of a slot for an hour.
    """
    limits, trial_s = limits_of(config, now), config.budget.trial_s if config.budget else None
    if limits is None:
        return
    cost = (trial_s or 0.0) * config.slots_held / 3600 * price
    if limits.cost is not None and cost > limits.cost:
        raise Rejected(
            "budget_too_small",
            f"one trial costs {cost:.4g} at {price:g} for a slot and hour, more than {limits.cost:g}",
            "budget.cost",
            _RAISE,
        )
    if limits.deadline_ms is None:
        return
    left_s = (limits.deadline_ms - millis(now)) / 1000
    if left_s <= 0:
        raise Rejected(
            "budget_too_small",
            "the deadline has passed already",
            "budget.deadline",
            "give a later time, or a duration from the submission: 36h",
        )
    if trial_s is not None and trial_s > left_s:
        raise Rejected(
            "budget_too_small",
            f"one trial takes {trial_s:g} s, and it is {left_s:.0f} s to the deadline",
            "budget.deadline",
            _RAISE,
        )


def limit_reason(limit: Limit, limits: BudgetLimits, is_used_up: bool) -> str:
    """Return the sentence that says which limit ended a search: what is left of it goes to stopping, or bears no trial more."""
    if limit == "deadline" and limits.deadline_ms is not None:
        ends = ("is as near as stopping takes", "leaves no time for another trial")
        said = f"{format_time(limits.deadline_ms)} {ends[0 if is_used_up else 1]}"
    else:
        what = f"{limits.cost:g}" if limit == "cost" else f"{limits.slot_hours:g} slot-hours"
        ends = ("is used, or kept for stopping what runs", "pays for no other trial")
        said = f"all of {what} {ends[0]}" if is_used_up else f"what is left of {what} {ends[1]}"
    return f"budget.{limit}: {said}"


def millis(at: datetime) -> int:
    """Return milliseconds since 1970."""
    return round(at.timestamp() * 1000)


def from_millis(at_ms: int) -> datetime:
    """Return the time that lies so many milliseconds after 1970."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def format_time(at_ms: int) -> str:
    """Return a time as people read it."""
    return f"{from_millis(at_ms):%Y-%m-%d %H:%M} UTC"


def _given(new: float | None, old: float | None) -> float | None:
    return old if new is None else new


def _passed(place: str, message: str) -> Rejected:
    return Rejected("budget_used", message, place, "give more, or finish the search with the best so far")
