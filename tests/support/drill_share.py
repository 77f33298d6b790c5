"""How much is tried of what is too much for every run: a share of it, or with FULL=1 all of it."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
FULL = "FULL" in os.environ


def examples(usual: int, thorough: int) -> int:
    """How many examples are drawn."""
    return thorough if FULL else usual


def every(step: int, of: Sequence[T], begin: int = 0) -> Sequence[T]:
    """One of `step`, from `begin` on; of `step` runs that begin one after the other each is in one."""
    return of if FULL else of[begin % step :: step]
