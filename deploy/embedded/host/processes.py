"""Processes of the embedded platform: each in its own session, identified by pid and start time, ended by pid only."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muster.runtime.isolation import set_niceness

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process identity with the kernel's start tick, which tells it from later processes with the same pid."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """Return the identity of a living process; None if there is none, or only a zombie."""
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[0] not in ("Z", "X"):
                return cls(pid=pid, started=int(fields[19]))
        return None

    def is_alive(self) -> bool:
        """Whether this process still runs."""
        return ProcessId.of(self.pid) == self

    def send(self, sign: signal.Signals) -> None:
        """Signal the process, unless it has ended."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, sign)

    def send_to_group(self, sign: signal.Signals) -> None:
        """Signal the process, and its group if it leads one."""
        if self.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                if os.getpgid(self.pid) == self.pid:
                    os.killpg(self.pid, sign)
                else:
                    os.kill(self.pid, sign)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run.

    Attributes:
        arguments: program and arguments.
        environment: the whole environment; nothing is inherited.
        log: file that takes its output, appended.
        directory: the working directory.
        user: a user's name to run as, when this process is root.
        dies_with_parent: the signal it gets when the thread that started it ends; None: it outlives the thread.
        niceness: its CPU niceness, 0 to 19.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    directory: Path
    user: str | None = None
    dies_with_parent: signal.Signals | None = signal.SIGKILL
    niceness: int = 0


def spawn(command: Command) -> subprocess.Popen[bytes]:
    """Start a process in its own session, without input.

    Call it from a thread that lives as long as the process: the kernel's parent-death signal is bound to the thread.
    """
    command.log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            list(command.arguments),
            env=dict(command.environment),
            cwd=command.directory,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=command.user,
            group=command.user,
            extra_groups=[] if command.user else None,
            umask=0o077,
            preexec_fn=_before_exec(command, os.getpid()),  # noqa: PLW1509 - it calls the kernel only
        )
    finally:
        os.close(descriptor)


def run_to_end(command: Command, timeout_s: float) -> int:
    """Run a short process and return its exit code.

    Raises:
        subprocess.TimeoutExpired: it exceeded the timeout and was killed.
    """
    process = spawn(command)
    try:
        return process.wait(timeout_s)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def end(process: subprocess.Popen[bytes], signs: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send each signal until the process ends within the seconds given with it; SIGKILL last."""
    for sign, timeout_s in (*signs, (signal.SIGKILL, 10.0)):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout_s)


def end_foreign(identity: ProcessId, signs: Sequence[tuple[signal.Signals, float]]) -> None:
    """As `end`, for a process that is not a child, with its group."""
    for sign, timeout_s in (*signs, (signal.SIGKILL, 10.0)):
        identity.send_to_group(sign)
        if wait_until(lambda: not identity.is_alive(), timeout_s):
            return


def wait_until(condition: Callable[[], bool], timeout_s: float, pause_s: float = 0.02) -> bool:
    """Poll until the condition holds; return False on timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause_s)
    return True


def _before_exec(command: Command, parent: int) -> Callable[[], None]:
    def prepare() -> None:
        if command.dies_with_parent is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, command.dies_with_parent.value)
            if os.getppid() != parent:
                os._exit(1)
        set_niceness(command.niceness)

    return prepare
