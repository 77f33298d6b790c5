"""What lasts as long as its process is no garbage: imports first of all, and the world that a leader reads."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG, YOUNGER = 100_000, 50
"""Objects after which the newest are searched, and how many such searches make one of the older ones, and one of all."""


def collect_rarely() -> None:
    """Search for garbage a hundredth as often, in a process that makes and keeps many records and few circles.

    What is frozen does not count as old, so each search of all came after a few thousand records, and looked at all that were made
    since the freeze: a tenth of what a scheduler under load did.
    """
    gc.set_threshold(YOUNG, YOUNGER, YOUNGER)


@contextmanager
def uncollected() -> Iterator[None]:
    """Make things without looking for garbage, and never look for any in them later.

    Searching what modules hold took a fifth of a start's processor time, and would lengthen each full collection
    afterwards.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
