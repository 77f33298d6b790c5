"""How much of a month's budget is spent."""

from dataclasses import dataclass
from datetime import datetime, timedelta

NEAR_PERCENT = 80
OVER_PERCENT = 100
LASTS = timedelta(hours=1)
"""No machine is asked for on behalf of who could pass a budget within this time, with all that is held running on."""
_LONG_H = 24.0 * 366


@dataclass(frozen=True, slots=True)
class BudgetSpending:
    """Money in the currency of the pools' prices.

    Attributes:
        per_month: The budget.
        spent: Of it, since the month began.
        preempts: Once all is spent, runs are asked for their slots too.
        per_hour: What is held now costs in an hour.
    """

    per_month: float
    spent: float
    preempts: bool = False
    per_hour: float = 0.0

    @property
    def is_near(self) -> bool:
        """From four fifths on people are warned."""
        return self._has_reached(NEAR_PERCENT)

    @property
    def is_over(self) -> bool:
        return self._has_reached(OVER_PERCENT)

    @property
    def reached(self) -> tuple[int, ...]:
        """Of the parts that people are told of those that are spent, in percent."""
        return tuple(part for part in (NEAR_PERCENT, OVER_PERCENT) if self._has_reached(part))

    @property
    def due_in(self) -> timedelta | None:
        """Until it is near, or over, as it goes now. None: it will not be, or is over already."""
        lefts = (part / 100 * self.per_month - self.spent for part in (NEAR_PERCENT, OVER_PERCENT))
        left = next((left for left in lefts if left > 0), None)
        if left is None or not self.per_hour:
            return None
        # A great budget at a small price lasts longer than a timedelta.
        return timedelta(hours=min(left / self.per_hour, _LONG_H))

    def bears(self, price_per_slot_hour: float) -> int:
        """Whole slots, beyond what is held now, that could be held for `LASTS` without passing it."""
        left_per_hour = (self.per_month - self.spent) / (LASTS / timedelta(hours=1)) - self.per_hour
        return max(0, int(left_per_hour / price_per_slot_hour + 1e-9))

    def _has_reached(self, percent: int) -> bool:
        return self.spent >= percent / 100 * self.per_month


def month_of(now: datetime) -> datetime:
    """The first moment of the month, in UTC."""
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def next_month(now: datetime) -> datetime:
    """The first moment of the month after, in UTC."""
    return month_of(month_of(now) + timedelta(days=31))
