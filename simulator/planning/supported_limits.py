"""Which limits of a budget a plan can simulate. Virtual time has no calendar, the simulation has no prices, and
without step times no usage."""

from datetime import datetime

from muster.config import Budget
from muster.config.budget import read_deadline


def playable(budget: Budget | None, is_timed: bool) -> tuple[Budget | None, tuple[str, ...]]:
    """Return the budget to simulate, and notes on the omitted limits. `is_timed`: whether the step time is known."""
    if budget is None:
        return None, ()
    if not is_timed:
        return None, ("the budget is left out, because the step time is unknown",)
    left_out = {}
    if budget.cost is not None:
        left_out["cost"] = "the budget's cost limit is left out; compare it with the cost of the plan"
    if budget.deadline is not None and isinstance(read_deadline(budget.deadline), datetime):
        left_out["deadline"] = "the budget's deadline is left out; set it as a duration, such as 36h"
    limits = budget.model_copy(update=dict.fromkeys(left_out))
    has_any = limits.slot_hours is not None or limits.deadline is not None
    return (limits if has_any else None), tuple(left_out.values())
