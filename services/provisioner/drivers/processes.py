"""Identify processes reliably: by a lock that the kernel holds for them, by their descriptors, and by their environment."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_SHELL = "/bin/sh"
_NOTE_PID = 'echo $$ > "$0" && exec "$@"'
"""The program keeps the shell's pid, which is therefore written before the program starts."""


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """A program to run; nothing else is inherited."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path


def spawn_locked(lock: Path, program: WorkerProgram) -> subprocess.Popen[bytes] | None:
    """Start a program that holds `lock` while it lives, in its own session.

    Returns None if another process holds the lock. The lock is taken before the fork and inherited, so that two
    programs can never start.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            return None
        os.ftruncate(descriptor, 0)
        return _spawn(lock, descriptor, program)
    finally:
        os.close(descriptor)


def is_held(lock: Path) -> bool:
    """Whether a living process holds the lock."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def open_holder(lock: Path) -> int | None:
    """Return a process descriptor of the lock's holder; None if nobody holds it or the holder's pid is not written yet."""
    with suppress(OSError, ValueError, IndexError):
        handle = os.pidfd_open(int(lock.read_text().split()[0]))
        # Still held after the descriptor was opened, so the descriptor is the holder's and not of a later process
        # with the same pid.
        if is_held(lock):
            return handle
        os.close(handle)
    return None


@contextmanager
def opened(pid: int) -> Iterator[int | None]:
    """Yield a process descriptor; None if there is no such process."""
    handle = None
    with suppress(OSError):
        handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def send(handle: int, sign: signal.Signals) -> None:
    """Signal a process by its descriptor; do nothing if it has ended."""
    with suppress(OSError):
        signal.pidfd_send_signal(handle, sign)


def find_by_variable(name: str, value: str) -> list[int]:
    """Return living processes that were started with this environment variable."""
    mark = f"{name}={value}".encode()
    return [pid for pid in psutil.pids() if mark in _environment(pid)]


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    with suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def command_line(pid: int) -> list[str]:
    """Return a process's command line; empty if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    return []


def _spawn(lock: Path, descriptor: int, program: WorkerProgram) -> subprocess.Popen[bytes]:
    with program.log.open("ab") as output:
        program.log.chmod(0o600)
        return subprocess.Popen(
            [_SHELL, "-c", _NOTE_PID, str(lock), *program.arguments],
            env=dict(program.environment),
            cwd=program.directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(descriptor,),
            umask=0o077,
        )


def _try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _environment(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []
