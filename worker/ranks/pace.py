"""How long a step takes, from what rank 0 reports: what the scheduler lends elastic trials slots by."""

from collections import deque
from statistics import median

STRETCH_MS = 1000
STRETCHES = 15
LEAST_STRETCHES = 3
NEWS = 0.05
"""What has changed by less is no news: a number that is told anew is learnt anew."""


class Pace:
    """The seconds of a step: the median of the newest stretches of at least a second, so that a checkpoint now and then does not count."""

    def __init__(self) -> None:
        self._began: tuple[int, int] | None = None
        self._stretches: deque[float] = deque(maxlen=STRETCHES)
        self._told: float | None = None

    def on_report(self, step: int, time_ms: int) -> None:
        """Rank 0 was at `step`. Of several reports that are read at once the last will do."""
        if self._began is None or step < self._began[0] or time_ms < self._began[1]:
            self._began = step, time_ms
            return
        steps, passed_ms = step - self._began[0], time_ms - self._began[1]
        if steps and passed_ms >= STRETCH_MS:
            self._stretches.append(passed_ms / 1000 / steps)
            self._began = step, time_ms

    def step_s(self) -> float | None:
        """Seconds of a step; None: not enough was heard yet."""
        if len(self._stretches) < LEAST_STRETCHES:
            return None
        now = median(self._stretches)
        if self._told is None or abs(now - self._told) > NEWS * self._told:
            self._told = now
        return self._told
