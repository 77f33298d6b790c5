"""The kinds of warm parents: how the daemon starts one and connects to it, and how far it trusts its frames. Neighbour: `process` exchanges the frames."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from muster import wire
from muster.errors import Rejected
from muster.wire.process_records import LOST, PROCESSES, is_served, read_ended
from worker.executors.run_sandbox import RunSandbox
from worker.executors.start_failures import MAX_FAILED_STARTS
from worker.sandbox.trial_files import TrialFile, list_folder, open_beneath

SOCKET = "parent.sock"
MAX_RECORDS = 4096
MAX_RECORD_BYTES = 64 * 1024
MAX_TEXT = 1000
_FIELDS = frozenset(part.name for part in fields(wire.ProcessFrame))


class ParentHandle(Protocol):
    """A warm parent as the daemon sees it."""

    @property
    def folder(self) -> Path:
        """The folder with its socket and records."""

    @property
    def log(self) -> Path:
        """The file with its output."""

    @property
    def max_failed_starts(self) -> int:
        """After so many failed starts in a row, queued launches fail."""

    @property
    def is_for_one_run(self) -> bool:
        """Whether it ends with its run: once it was ready, it is not started again without a process to start."""

    def describe_failure(self, trouble: str, why: str) -> str:
        """Return the error of launches that fail because it does not start: `trouble` counts the failures, `why` is the last reason."""

    def connect(self) -> socket.socket:
        """Connect to it. Raises OSError if it does not listen."""

    def is_served(self) -> bool:
        """Whether a parent, of this or an earlier daemon, is running or starting."""

    def start(self) -> subprocess.Popen[bytes]:
        """Start it. Raises OSError."""

    def write_launch(self, launch: wire.Launch) -> Path:
        """Write the file that describes a process, which only that process reads. Raises OSError."""

    def lost(self, living: Collection[str]) -> Iterator[wire.ProcessFrame]:
        """Yield the processes of a dead parent, all ended. `living`: the names that it had last reported as living."""

    def check(self, process: wire.ProcessFrame) -> wire.ProcessFrame:
        """Return its report of a process, with a pid of this machine. Raises Rejected for a report that it may not make."""

    def end(self) -> None:
        """End its processes, also if it ignores its orders. Blocks."""


@dataclass(frozen=True, slots=True)
class MachineParent:
    """A warm parent that runs as the worker's user outside of sandboxes. It is part of the worker, and its frames are trusted."""

    folder: Path
    warm: str
    environment: Mapping[str, str]
    interpreter: str = sys.executable
    max_failed_starts: int = MAX_FAILED_STARTS
    is_for_one_run: bool = False

    @property
    def log(self) -> Path:
        """See `ParentHandle`."""
        return self.folder / "parent.log"

    def describe_failure(self, trouble: str, why: str) -> str:
        """See `ParentHandle`."""
        return f"this machine cannot start processes: {trouble}"

    def connect(self) -> socket.socket:
        """See `ParentHandle`."""
        return wire.connect(str(self.folder / SOCKET), timeout_s=2.0)

    def is_served(self) -> bool:
        """See `ParentHandle`."""
        return is_served(self.folder)

    def start(self) -> subprocess.Popen[bytes]:
        """See `ParentHandle`."""
        # Files that a dead parent did not read hold tokens, and their processes are ordered again.
        shutil.rmtree(self.folder / wire.LAUNCHES, ignore_errors=True)
        argv = [self.interpreter, "-I", *parent_arguments(self.folder, self.warm)]
        return _start(argv, self.environment, self.folder, self.log)

    def lost(self, living: Collection[str]) -> Iterator[wire.ProcessFrame]:
        """See `ParentHandle`."""
        return read_ended(self.folder / PROCESSES)

    def write_launch(self, launch: wire.Launch) -> Path:
        """See `ParentHandle`."""
        return wire.write_launch(self.folder / wire.LAUNCHES, launch)

    def check(self, process: wire.ProcessFrame) -> wire.ProcessFrame:
        """See `ParentHandle`."""
        return process

    def end(self) -> None:
        """See `ParentHandle`. It obeys `Quit`."""


@dataclass(slots=True)
class SandboxedParent:
    """A run's own warm parent in the run's sandbox: everything that it sends or writes may come from the run's code.

    Only processes of its run count. Its pids are those of the sandbox's PID namespace, and are translated: it is the parent of its
    processes; 0 if it has no such child.
    """

    run: str
    sandbox: RunSandbox
    warm: str
    max_failed_starts: int = 1
    is_for_one_run: bool = True
    _pid: int = field(default=0, init=False)

    @property
    def folder(self) -> Path:
        """See `ParentHandle`."""
        return self.sandbox.folder

    @property
    def log(self) -> Path:
        """See `ParentHandle`."""
        return self.sandbox.log

    def describe_failure(self, trouble: str, why: str) -> str:
        """See `ParentHandle`."""
        return f"the run's sandbox could not be started: {why}"

    def connect(self) -> socket.socket:
        """Connect without following links: the run could lead the worker to another socket of the machine."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found = open_beneath(folder, SOCKET, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        finally:
            os.close(folder)
        try:
            if not stat.S_ISSOCK(os.fstat(found).st_mode):
                raise OSError(f"{self.folder / SOCKET} is not a socket")
            connection = wire.connect(f"/proc/self/fd/{found}", timeout_s=2.0)
        finally:
            os.close(found)
        self._pid = _peer_pid(connection)
        return connection

    def is_served(self) -> bool:
        """See `ParentHandle`. Its lock file proves nothing: a new start replaces the sandbox."""
        return False

    def start(self) -> subprocess.Popen[bytes]:
        """See `ParentHandle`."""
        command = self.sandbox.start_command(parent_arguments(self.folder, self.warm))
        return _start(command.argv, command.environment, self.folder.parent, self.log)

    def lost(self, living: Collection[str]) -> Iterator[wire.ProcessFrame]:
        """See `ParentHandle`. The run may have removed or changed the records: a process without one ended with the sandbox."""
        recorded = set()
        for process in self._read_records():
            recorded.add(process.name)
            yield process
        for name in sorted(set(living) - recorded):
            yield wire.ProcessFrame(name, self.run, 0, exit_code=-signal.SIGKILL, trial_error=LOST)

    def check(self, process: wire.ProcessFrame) -> wire.ProcessFrame:
        """See `ParentHandle`."""
        name = rf"{re.escape(self.run)}\.\d{{1,9}}\.(\d{{1,5}}|rendezvous|hook)"
        numbers: tuple[Any, ...] = (process.pid, process.port, process.exit_code or 0)
        texts: tuple[Any, ...] = (process.error, process.left, process.trial_error)
        if process.run != self.run or not re.fullmatch(name, str(process.name)):
            raise Rejected("other_run", f"the warm parent of run {self.run} reported {process.name!r:.100}")
        is_sound = all(type(one) is int for one in numbers) and all(type(one) is str for one in texts)
        if not is_sound or not 0 <= process.port < 65_536 or not -65 < (process.exit_code or 0) < 256:
            raise Rejected("frame_invalid", f"the warm parent of run {self.run} sent invalid values")
        # Whatever it says of the machine, the trial may have said.
        trial_error, left = (process.error or process.trial_error)[:MAX_TEXT], process.left[:MAX_TEXT]
        pid = _pid_outside(process.pid, self._pid) if process.exit_code is None else 0
        return replace(process, pid=pid, error="", left=left, trial_error=trial_error)

    def end(self) -> None:
        """See `ParentHandle`."""
        self.sandbox.end()

    def write_launch(self, launch: wire.Launch) -> Path:
        """See `ParentHandle`. The run may write to the folder, but not replace it."""
        return wire.write_launch(self.sandbox.launches, launch, self.sandbox.owner)

    def _read_records(self) -> Iterator[wire.ProcessFrame]:
        records = [one for one in list_folder(self.folder / PROCESSES) if one.path.endswith(".json")]
        for record in records[:MAX_RECORDS]:
            with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError, Rejected):
                with TrialFile(self.folder, f"{PROCESSES}/{record.path}").open() as file:
                    kept = json.loads(file.read(MAX_RECORD_BYTES))
                process = wire.ProcessFrame(**{name: kept[name] for name in kept.keys() & _FIELDS})
                if process.exit_code is None:
                    process = replace(process, exit_code=-signal.SIGKILL, error=LOST)
                yield self.check(process)


def parent_arguments(folder: Path, warm: str) -> list[str]:
    """Return Python's arguments that run a warm parent in `folder`."""
    return ["-m", "muster.runtime", "--directory", str(folder), "--warm", warm]


def _start(
    argv: Collection[str], environment: Mapping[str, str], directory: Path, log: Path
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=directory,
            env=dict(environment),
            start_new_session=True,
        )


def _peer_pid(connection: socket.socket) -> int:
    """Return the process that listens at a socket, as this machine numbers it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", credentials)[0]
    return pid


def _pid_outside(pid: int, parent: int) -> int:
    """Return this machine's number of the child of `parent` that is `pid` in its own PID namespace; 0 if there is none."""
    for entry in os.scandir("/proc") if parent else ():
        if entry.name.isdigit():
            with suppress(OSError):
                status = Path(entry.path, "status").read_text(errors="replace")
                if _numbers(status, "PPid") == [str(parent)] and _numbers(status, "NSpid")[1:][-1:] == [
                    str(pid)
                ]:
                    return int(entry.name)
    return 0


def _numbers(status: str, name: str) -> list[str]:
    return status.partition(f"\n{name}:")[2].partition("\n")[0].split()
