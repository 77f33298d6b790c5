"""One installation step: a command with limits on time, output and memory."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from worker.sandbox.accounts import Account

STEP_S = 1800.0
MAX_OUTPUT_BYTES = 32 * 1024 * 1024
MAX_MEMORY_BYTES = 2 * 1024 * 1024 * 1024
"""Memory limit of the command itself. pip buffers a build's output until the build ends."""
LOOK_S = 0.5
LOOK_AT_DISK_S = 2.0
_READ_BYTES = 1024 * 1024
_TAIL_BYTES = 1024 * 1024
_END_BYTES = 1024
_MAX_CHARACTERS = 200
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Step:
    """A command to run in `folder` as a user (None: the worker's own), or in a sandbox that a file describes. `over_disk` returns the limit of
    disk space that it exceeds, as text; empty: none."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    account: Account | None
    sandbox: Path | None = None
    over_disk: Callable[[], str] = lambda: ""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step: exit code and final output, or (`over`) the limit that it exceeded."""

    code: int
    output: str
    over: str = ""


@dataclass(slots=True)
class _Printed:
    """The end of a command's output, and its total size."""

    count: int = 0
    tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.count += len(data)
        self.tail += data
        if len(self.tail) > 2 * _TAIL_BYTES:
            del self.tail[:-_TAIL_BYTES]

    @property
    def text(self) -> str:
        return self.tail.decode(errors="replace")

    @property
    def last_line(self) -> str:
        lines = self.tail[-_END_BYTES:].decode(errors="replace").strip().splitlines()
        return (
            "".join(character for character in lines[-1] if character.isprintable())[:_MAX_CHARACTERS]
            if lines
            else ""
        )


def run_step(step: Step, note: Note) -> StepResult:
    """Run a step until it ends or exceeds a limit, and kill its process group. `note` gets each new last line."""
    account = step.account
    in_sandbox = (sys.executable, "-I", "-m", "muster.runtime.sandbox", str(step.sandbox))
    with subprocess.Popen(
        [*(in_sandbox if step.sandbox else ()), *step.command],
        cwd=step.folder,
        env=dict(step.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        user=account.user if account else None,
        group=account.group if account else None,
        extra_groups=[] if account else None,
    ) as process:
        printed = _Printed()
        try:
            over = _follow(process, printed, note, step.over_disk)
        finally:
            with suppress(ProcessLookupError):  # also its background processes
                os.killpg(process.pid, signal.SIGKILL)
    return StepResult(process.returncode, printed.text, over)


def _follow(
    process: subprocess.Popen[bytes], printed: _Printed, note: Note, over_disk: Callable[[], str]
) -> str:
    """Read its output until it ends; return the limit that it exceeded, if any."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    until, look_at = time.monotonic() + STEP_S, 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            # Checked before the last read: a descendant may keep the output open for ever.
            has_ended = process.poll() is not None
            if selector.select(0.0 if has_ended else LOOK_S):
                data = b""
                with suppress(BlockingIOError):
                    data = os.read(pipe, _READ_BYTES)
                    if not data:
                        selector.unregister(pipe)
                if data:
                    printed.add(data)
                    note(printed.last_line)
            if has_ended:
                return ""
            if over := _over(process.pid, printed, until):
                return over
            if time.monotonic() >= look_at:
                if over := over_disk():
                    return over
                look_at = time.monotonic() + LOOK_AT_DISK_S


def _over(pid: int, printed: _Printed, until: float) -> str:
    """Return the exceeded limit as text; empty: none."""
    last = f"; it last printed: {printed.last_line}" if printed.last_line else ""
    if time.monotonic() >= until:
        return f"it was not done after {STEP_S / 60:.0f} minutes{last}"
    if printed.count > MAX_OUTPUT_BYTES:
        return f"it printed more than {MAX_OUTPUT_BYTES >> 20} MiB{last}"
    with suppress(OSError, ValueError, IndexError):
        # In a sandbox the command is a child of what made the sandbox.
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pages = max(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in (pid, *children))
        if pages * _PAGE_BYTES > MAX_MEMORY_BYTES:
            return f"it used more than {MAX_MEMORY_BYTES >> 20} MiB of memory (a build may be printing endlessly){last}"
    return ""
