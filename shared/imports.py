"""How a process imports what it is made of: first of all, and once. Neighbours: `__main__.py` of every process."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Import without looking for garbage, and never look for any in it later.

    What modules hold lives as long as the process. Searching it took a fifth of a start's processor time, and would
    lengthen each full collection afterwards.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
