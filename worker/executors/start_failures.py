"""Counts failed starts: after the third in a row, the machine itself is considered unable to start processes."""

import asyncio
from pathlib import Path

MAX_FAILED_STARTS = 3
EXCLUDED_S = 60.0
"""How long no new run starts here after the last failed start, unless a start succeeds earlier."""
_END_BYTES = 4096
_MAX_CHARACTERS = 300


class StartFailures:
    """Counts failed starts in a row: of a warm parent, and of processes (once per run)."""

    def __init__(self, log: Path, max_failed: int = MAX_FAILED_STARTS) -> None:
        """`log`: the warm parent's log file, for the message to users. `max_failed`: so many in a row are trouble."""
        self._log = log
        self._max_failed = max_failed
        self._failed = 0
        self._run = ""
        self._reason = ""
        self._until: float | None = None

    def parent_failed(self, why: str) -> None:
        """Count a warm parent that ended before it started anything. The next one shows whether the cause is gone."""
        self._run, self._until = "", None
        self._count(f"the last with: {why}; fix the error in {self._log}")

    def launch_failed(self, run: str, why: str) -> None:
        """Count a process that the warm parent could not start."""
        if run == self._run:
            return
        self._run, self._until = run, asyncio.get_running_loop().time() + EXCLUDED_S
        self._count(f"the last with: {why}; end processes or free memory there")

    def worked(self) -> None:
        """Reset the count after a successful start."""
        self._failed, self._run, self._until = 0, "", None

    @property
    def trouble(self) -> str | None:
        """Why no process can be started; None while fewer starts failed, or the last failure is long ago."""
        is_past = self._until is not None and asyncio.get_running_loop().time() >= self._until
        if self._failed < self._max_failed or is_past:
            return None
        return f"{self._max_failed} starts in a row failed, {self._reason}"

    def last_output_line(self) -> str:
        """Return the last line of the warm parent's log."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, self._log.stat().st_size - _END_BYTES))
                lines = log.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1].strip()[:_MAX_CHARACTERS] if lines else ""

    def _count(self, reason: str) -> None:
        self._failed += 1
        self._reason = reason
