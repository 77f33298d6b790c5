"""What of a budget a plan can play: virtual time knows no calendar, a pool's price is not told to it, and without times nothing is used."""

from datetime import datetime

from muster.config import Budget
from muster.config.budget import read_deadline


def playable(budget: Budget | None, is_timed: bool) -> tuple[Budget | None, tuple[str, ...]]:
    """Return the budget that is played, and notes on what of it is not. `is_timed`: whether it is known how long a step takes."""
    if budget is None:
        return None, ()
    if not is_timed:
        return None, ("the budget is left out: how long a step takes is not known",)
    left_out = {}
    if budget.cost is not None:
        left_out["cost"] = "the budget's cost is left out: see what the plan costs"
    if budget.deadline is not None and isinstance(read_deadline(budget.deadline), datetime):
        left_out["deadline"] = "the budget's deadline is left out: give it as a duration, such as 36h"
    limits = budget.model_copy(update=dict.fromkeys(left_out))
    has_any = limits.slot_hours is not None or limits.deadline is not None
    return (limits if has_any else None), tuple(left_out.values())
