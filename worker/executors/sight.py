"""A look at processes of this machine."""

import os
from contextlib import suppress
from pathlib import Path

from muster.wire.pulse import STACKS_SIGNAL


class LocalProcesses:
    """By the kernel's own tables."""

    def session_of(self, pid: int) -> int:
        """As the port says."""
        try:
            return os.getsid(pid) if pid > 0 else 0
        except OSError:
            return 0

    def used_s(self) -> dict[int, float]:
        """As the port says."""
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        used: dict[int, float] = {}
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                    session = int(fields[3])
                    used[session] = used.get(session, 0.0) + (int(fields[11]) + int(fields[12])) * tick_s
        return used

    def ask_stacks(self, pid: int) -> None:
        """As the port says; the rank has a handler for this signal."""
        with suppress(OSError):
            os.kill(pid, STACKS_SIGNAL)
