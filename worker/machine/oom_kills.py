"""What the kernel tells of its killings for lack of memory."""

from collections import deque
from contextlib import suppress
from pathlib import Path

WINDOW_S = 5.0
VMSTAT = Path("/proc/vmstat")


class MemoryKills:
    """Counts them, so that a rank that was killed with signal 9 can be told why. Noted each second; a kernel that counts none says nothing."""

    def __init__(self, source: Path = VMSTAT) -> None:
        self._source = source
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now: float) -> None:
        """Remember how many there were until now (monotonic seconds)."""
        self._seen.append((now, count_kills(self._source)))
        while len(self._seen) > 1 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()

    def is_recent(self) -> bool:
        """Whether the kernel has killed for lack of memory in the last seconds."""
        return bool(self._seen) and count_kills(self._source) > self._seen[0][1]


def count_kills(source: Path) -> int:
    """How many a file of the kernel's counts; 0 where it counts none."""
    with suppress(OSError, ValueError):
        for line in source.read_text().splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0
