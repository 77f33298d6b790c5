"""Whether the worker's disk was full, or nearly so."""

import shutil
from pathlib import Path

WINDOW_S = 300.0
"""A rank may free the space again, and take a while to end."""
_NEARLY_BYTES = 2 * 1024**3
"""More than a rank writes between two samples."""
_NEARLY_PART = 20


class DiskSpace:
    """Tracks the free space of a disk, sampled each second: a rank that says that the disk was full may not say the truth."""

    def __init__(self, disk: Path) -> None:
        self._disk = disk
        self._full_at: float | None = None

    def note(self, now: float) -> None:
        """Take a sample at this time (monotonic seconds)."""
        usage = shutil.disk_usage(self._disk)
        if usage.free < max(_NEARLY_BYTES, usage.total // _NEARLY_PART):
            self._full_at = now

    def was_full(self, now: float) -> bool:
        """Whether it has been nearly full in the last minutes."""
        self.note(now)
        return self._full_at is not None and now - self._full_at <= WINDOW_S
