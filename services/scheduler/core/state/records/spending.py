"""How much of a monthly budget is spent."""

from dataclasses import dataclass
from datetime import datetime, timedelta

NEAR_PERCENT = 80
OVER_PERCENT = 100
LASTS = timedelta(hours=1)
"""No machine is requested for a holder that could exceed its budget within this time if everything it holds
kept running."""
_LONG_H = 24.0 * 366


@dataclass(frozen=True, slots=True)
class BudgetSpending:
    """Amounts in the currency of the pools' prices.

    Attributes:
        per_month: The budget.
        spent: The amount spent since the month began.
        preempts: Once the budget is spent, runs are preempted too.
        per_hour: The hourly cost of the slots held now.
    """

    per_month: float
    spent: float
    preempts: bool = False
    per_hour: float = 0.0

    @property
    def is_near(self) -> bool:
        """Whether 80% is spent, from which users are warned."""
        return self._has_reached(NEAR_PERCENT)

    @property
    def is_over(self) -> bool:
        return self._has_reached(OVER_PERCENT)

    @property
    def reached(self) -> tuple[int, ...]:
        """The thresholds that were reached and are reported to users, in percent."""
        return tuple(part for part in (NEAR_PERCENT, OVER_PERCENT) if self._has_reached(part))

    @property
    def due_in(self) -> timedelta | None:
        """The time until the next threshold at the current rate. None: it is never reached, or the budget is
        already spent."""
        lefts = (part / 100 * self.per_month - self.spent for part in (NEAR_PERCENT, OVER_PERCENT))
        left = next((left for left in lefts if left > 0), None)
        if left is None or not self.per_hour:
            return None
        # A large budget at a low price would overflow a timedelta.
        return timedelta(hours=min(left / self.per_hour, _LONG_H))

    def bears(self, price_per_slot_hour: float) -> int:
        """Return how many whole slots, beyond those held now, could be held for `LASTS` within the budget."""
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
