"""The order of waiting requests in a pool, and what each experiment holds and waits for."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from shared.ids import PoolName, TrialId

Key = tuple[int, int, TrialId]
"""Priority, place of submission, id: what is smaller goes first."""


@dataclass(frozen=True, slots=True)
class Part:
    """An experiment's part in the queue, once submitted. `weight` is kept for fair share."""

    priority: int
    weight: float = 1.0
    max_slots: int | None = None
    pool: PoolName | None = None


@dataclass(slots=True)
class Usage:
    """What an experiment holds and waits for in one pool, in slots."""

    running: int = 0
    waiting: int = 0

    def usable(self, max_slots: int | None) -> int:
        """How many of the waiting slots could be used beyond those that are held."""
        return self.waiting if max_slots is None else min(self.waiting, max(0, max_slots - self.running))


class Queue:
    """Waiting requests of one pool in order; `ahead` costs a bisection."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._of: dict[TrialId, Key] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[TrialId]:
        return (key[2] for key in self._keys)

    def __contains__(self, trial: TrialId) -> bool:
        return trial in self._of

    def add(self, priority: int, place: int, trial: TrialId) -> None:
        self.discard(trial)
        key = (priority, place, trial)
        self._of[trial] = key
        insort(self._keys, key)

    def discard(self, trial: TrialId) -> None:
        key = self._of.pop(trial, None)
        if key is not None:
            del self._keys[bisect_left(self._keys, key)]

    def ahead(self, trial: TrialId) -> int:
        """How many requests stand before this one."""
        return bisect_left(self._keys, self._of[trial])
