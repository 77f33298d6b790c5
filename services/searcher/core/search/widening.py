"""How many trials at once while a pool has slots that nobody asks for."""

import math
from dataclasses import dataclass

from muster.config import ExperimentConfig, Single


@dataclass(frozen=True, slots=True)
class Idle:
    """A pool as the scheduler last told it: slots that stand idle, and slots that somebody waits for; what a slot costs
    for an hour, None where nothing is known."""

    slots: int
    waiting_slots: int
    price_per_slot_hour: float | None = None


def choose_limit(config: ExperimentConfig, concurrent: float, open_trials: int, idle: Idle) -> int | None:
    """How many may be open now; None: this search is never widened.

    As many more than are open as the idle slots hold, up to `widen_to`; none more than `concurrent`, as people want it, as soon as anybody waits, or
    a slot costs more than `widen_max_price`: what is open then goes on, and is not followed by others.
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
    """Slots without a price are taken to be free."""
    return most is not None and (idle.price_per_slot_hour or 0.0) > most
