"""Virtual time: what is to happen next, in order of time, then of being put down. Nothing else moves the clock."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""What the clock on the wall shows at 0 ms."""

Act = Callable[[], None]


class EventQueue:
    """A heap of acts. Equal times keep the order in which they were put down, so a run repeats exactly."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._heap: list[tuple[int, int, Act]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def now(self) -> datetime:
        """The clock on the wall."""
        return BEGINNING + timedelta(milliseconds=self.now_ms)

    @property
    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def at(self, due_ms: int, act: Act) -> None:
        """Have `act` happen at `due_ms`, or now where that has passed."""
        self._sequence += 1
        heapq.heappush(self._heap, (max(due_ms, self.now_ms), self._sequence, act))

    def after(self, delay_ms: int, act: Act) -> None:
        self.at(self.now_ms + delay_ms, act)

    def next_ms(self) -> int | None:
        """When something happens next; None: never."""
        return self._heap[0][0] if self._heap else None

    def step(self) -> bool:
        """Let the next thing happen; False: there is none."""
        if not self._heap:
            return False
        self.now_ms, _, act = heapq.heappop(self._heap)
        act()
        return True
