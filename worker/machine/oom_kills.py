"""The kernel's counters of OOM kills."""

from collections import deque
from contextlib import suppress
from pathlib import Path

WINDOW_S = 5.0
VMSTAT = Path("/proc/vmstat")


class MemoryKills:
    """Tracks OOM kills of the machine, to explain why a rank was killed by SIGKILL. Sampled each second; 0 if the kernel has no counter."""

    def __init__(self, source: Path = VMSTAT) -> None:
        self._source = source
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now: float) -> None:
        """Record the count at this time (monotonic seconds)."""
        self._seen.append((now, count_kills(self._source)))
        while len(self._seen) > 1 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()

    def is_recent(self) -> bool:
        """Whether there was an OOM kill in the last seconds."""
        return bool(self._seen) and count_kills(self._source) > self._seen[0][1]


def count_kills(source: Path) -> int:
    """Return the OOM kill count of a kernel file; 0 if it has none."""
    with suppress(OSError, ValueError):
        for line in source.read_text().splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0
