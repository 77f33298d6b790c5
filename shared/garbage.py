"""What lasts as long as its process is no garbage: imports first of all, and the world that a leader reads."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
