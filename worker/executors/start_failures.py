"""Starts that fail one after another: from the third on it is the machine that can start nothing, whoever asks."""

import asyncio
from pathlib import Path

MAX_FAILED_STARTS = 3
EXCLUDED_S = 60.0
"""So long after the last failed start nothing new is to begin here, where nothing else shows that it would work again."""
_END_BYTES = 4096
_MAX_CHARACTERS = 300


class StartFailures:
    """Counts failed starts in a row: of a warm parent, and of what it was to start (once for each run)."""

    def __init__(self, log: Path) -> None:
        """`log` is where the warm parent writes; people are sent there."""
        self._log = log
        self._failed = 0
        self._run = ""
        self._reason = ""
        self._until: float | None = None

    def parent_failed(self, why: str) -> None:
        """A warm parent ended, or was ended, before it could start anything. The next one shows whether that is over."""
        self._run, self._until = "", None
        self._count(f"the last with: {why}; mend what {self._log} says")

    def launch_failed(self, run: str, why: str) -> None:
        """The warm parent could not start a process of a run."""
        if run == self._run:
            return
        self._run, self._until = run, asyncio.get_running_loop().time() + EXCLUDED_S
        self._count(f"the last with: {why}; end processes or free memory there")

    def worked(self) -> None:
        """Something was started."""
        self._failed, self._run, self._until = 0, "", None

    @property
    def trouble(self) -> str | None:
        """Why nothing can be started; None while fewer have failed, or the last failure is a while ago."""
        is_past = self._until is not None and asyncio.get_running_loop().time() >= self._until
        if self._failed < MAX_FAILED_STARTS or is_past:
            return None
        return f"{MAX_FAILED_STARTS} starts in a row failed, {self._reason}"

    def last_output_line(self) -> str:
        """The last line that the warm parent wrote."""
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
