"""Concurrency of a search while its pool has idle slots."""

import math
from dataclasses import dataclass

from muster.config import ExperimentConfig, Single


@dataclass(frozen=True, slots=True)
class Idle:
    """The scheduler's last report of a pool: idle slots, slots that are waited for, and the hourly price of a slot (None if unknown)."""

    slots: int
    waiting_slots: int
    price_per_slot_hour: float | None = None


def choose_limit(config: ExperimentConfig, concurrent: float, open_trials: int, idle: Idle) -> int | None:
    """Return how many trials may be open now; None if this search is never widened.

    The result is the number of open trials plus as many as the idle slots hold, up to `widen_to`. It falls back to
    `concurrent`, the configured number, as soon as any request waits or a slot costs more than `widen_max_price`:
    open trials then continue but are not replaced.
    """
    searcher = config.searcher
    if isinstance(searcher, Single) or searcher.widen_to is None or math.isinf(concurrent):
        return None
    least = int(concurrent)
    if idle.waiting_slots or _is_too_dear(searcher.widen_max_price, idle):
        return least
    slots = max(1, config.resources.slot_range[0])
    return max(least, min(searcher.widen_to, open_trials + idle.slots // slots))


def _is_too_dear(most: float | None, idle: Idle) -> bool:
    """Whether a slot costs more than `most`; slots without a price count as free."""
    return most is not None and (idle.price_per_slot_hour or 0.0) > most
