"""How long before a limit trials are asked to stop, and before it what has not stopped is ended: the time to save, and for messages to arrive.

A short budget keeps more of itself back (decision 0095): stopping takes some seconds, however little there is to use.
"""

from dataclasses import dataclass

STOPPING_MS = 60_000
"""How long a trial is given to save and stop, until one has been seen to need longer."""
BRIEF_MS = 5_000
"""So long at least where that would be more than a tenth of the budget."""
ENDING_MS = 5_000
"""So long before the limit is ended what has not stopped."""
CAUTION = 1.25
"""So many times as long as the slowest has needed."""


@dataclass(frozen=True, slots=True)
class StopMargin:
    """A time of `wait_ms`, or a part of the budget where that is less; a larger part of it for the `needed_ms` that are seldom enough.

    Attributes:
        share: `wait_ms` take no more than one in so many of the whole budget.
        needed_share: Nor do `needed_ms`, of so many.
    """

    wait_ms: float
    share: int
    needed_ms: float = 0.0
    needed_share: int = 1

    def of(self, whole: float, rate: float = 1.0) -> float:
        """Return how much of a limit it takes, in the unit of `whole`, of which `rate` is used in a millisecond."""
        needed = min(rate * self.needed_ms, whole / self.needed_share)
        return max(needed, min(rate * self.wait_ms, whole / self.share))


def to_stop(slowest_ms: float, preemption_ms: float, rules: int) -> StopMargin:
    """Return when trials are asked to stop. `slowest_ms`: the longest that one has needed; `preemption_ms`: that one may need."""
    seen_ms = CAUTION * slowest_ms
    wait_ms = min(max(STOPPING_MS, seen_ms), preemption_ms) + ENDING_MS
    if rules < 3:
        return StopMargin(wait_ms, 10)
    return StopMargin(wait_ms, 10, min(max(BRIEF_MS, seen_ms), preemption_ms) + ENDING_MS, 3)


def to_end(rules: int) -> StopMargin:
    """Return when what has not stopped is ended."""
    return StopMargin(ENDING_MS, 20 if rules < 3 else 6)
