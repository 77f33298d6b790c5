"""Processes known beyond doubt: by a lock that the kernel keeps for them, by descriptors of theirs, by what they were started with."""

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
"""The pid of the shell becomes that of the program, so it is on file before the program begins."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and how; nothing else is inherited."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path


def spawn_locked(lock: Path, command: Command) -> subprocess.Popen[bytes] | None:
    """Start a program that holds `lock` as long as it lives, in a session of its own; None while another holds it.

    The lock is taken before the fork and inherited, so there is no moment in which two could be started.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            return None
        os.ftruncate(descriptor, 0)
        return _spawn(lock, descriptor, command)
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
    """A process descriptor of the lock's holder; None where nobody holds it, or it has not yet said who it is."""
    with suppress(OSError, ValueError, IndexError):
        handle = os.pidfd_open(int(lock.read_text().split()[0]))
        # Still held after the descriptor was opened: it is the holder's, and not of a later process with its number.
        if is_held(lock):
            return handle
        os.close(handle)
    return None


@contextmanager
def opened(pid: int) -> Iterator[int | None]:
    """A process descriptor; None when there is no such process."""
    handle = None
    with suppress(OSError):
        handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def send(handle: int, sign: signal.Signals) -> None:
    """Signal a process by its descriptor; nothing happens when it is gone."""
    with suppress(OSError):
        signal.pidfd_send_signal(handle, sign)


def find_by_variable(name: str, value: str) -> list[int]:
    """Living processes that were started with this variable."""
    mark = f"{name}={value}".encode()
    return [pid for pid in psutil.pids() if mark in _environment(pid)]


def descendants(pid: int) -> list[int]:
    """What a process has started, and so on."""
    with suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def command_line(pid: int) -> list[str]:
    """What a process was started as; empty when it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    return []


def _spawn(lock: Path, descriptor: int, command: Command) -> subprocess.Popen[bytes]:
    with command.log.open("ab") as output:
        command.log.chmod(0o600)
        return subprocess.Popen(
            [_SHELL, "-c", _NOTE_PID, str(lock), *command.arguments],
            env=dict(command.environment),
            cwd=command.directory,
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
