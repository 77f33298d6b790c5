"""Virtual time: an event queue ordered by time, then by insertion. Only this queue advances the clock."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall-clock time at 0 ms."""

Act = Callable[[], None]


class EventQueue:
    """A heap of callbacks. Callbacks at equal times run in the order of insertion, so a simulation is
    reproducible."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._heap: list[tuple[int, int, Act]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def now(self) -> datetime:
        """The wall-clock time."""
        return BEGINNING + timedelta(milliseconds=self.now_ms)

    @property
    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def at(self, due_ms: int, act: Act) -> None:
        """Schedule `act` at `due_ms`, or now if that has passed."""
        self._sequence += 1
        heapq.heappush(self._heap, (max(due_ms, self.now_ms), self._sequence, act))

    def after(self, delay_ms: int, act: Act) -> None:
        self.at(self.now_ms + delay_ms, act)

    def next_ms(self) -> int | None:
        """Return when the next callback is due; None: there is none."""
        return self._heap[0][0] if self._heap else None

    def step(self) -> bool:
        """Run the next callback; False: there is none."""
        if not self._heap:
            return False
        self.now_ms, _, act = heapq.heappop(self._heap)
        act()
        return True
