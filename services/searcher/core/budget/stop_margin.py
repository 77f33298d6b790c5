"""How long before a limit trials are asked to stop, and how long before it those still running are killed.

The margin covers saving a checkpoint and the delivery of messages. A short budget reserves a larger share of itself
(decision 0095), because stopping takes some seconds however small the budget is.
"""

from dataclasses import dataclass

STOPPING_MS = 60_000
"""Time that a trial gets to save and stop, until a trial has been seen to need longer."""
BRIEF_MS = 5_000
"""Least time to save and stop, taken even if it exceeds a tenth of the budget."""
ENDING_MS = 5_000
"""Trials that have not stopped are killed this long before the limit."""
CAUTION = 1.25
"""Safety factor on the slowest stop seen so far."""


@dataclass(frozen=True, slots=True)
class StopMargin:
    """A margin of `wait_ms`, capped at a share of the budget, but at least `needed_ms` capped at a larger share.

    Attributes:
        share: `wait_ms` takes at most 1/share of the whole budget.
        needed_share: `needed_ms` takes at most 1/needed_share of it.
    """

    wait_ms: float
    share: int
    needed_ms: float = 0.0
    needed_share: int = 1

    def of(self, whole: float, rate: float = 1.0) -> float:
        """Return the margin in the unit of `whole`, of which `rate` is used per millisecond."""
        needed = min(rate * self.needed_ms, whole / self.needed_share)
        return max(needed, min(rate * self.wait_ms, whole / self.share))


def to_stop(slowest_ms: float, preemption_ms: float, rules: int) -> StopMargin:
    """Return the margin at which trials are asked to stop.

    `slowest_ms` is the slowest stop seen so far, `preemption_ms` the longest that is allowed.
    """
    seen_ms = CAUTION * slowest_ms
    wait_ms = min(max(STOPPING_MS, seen_ms), preemption_ms) + ENDING_MS
    if rules < 3:
        return StopMargin(wait_ms, 10)
    return StopMargin(wait_ms, 10, min(max(BRIEF_MS, seen_ms), preemption_ms) + ENDING_MS, 3)


def to_end(rules: int) -> StopMargin:
    """Return the margin at which trials that have not stopped are killed."""
    return StopMargin(ENDING_MS, 20 if rules < 3 else 6)
