"""Finds and ends a platform's processes: workers with their ranks, and processes left by a killed supervisor."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from deploy.embedded.host.processes import ProcessId, end_foreign, wait_until
from deploy.embedded.servers.base import MARKER, Home, StopSigns
from deploy.embedded.servers.postgres import PostgresServer, find_postmaster
from deploy.embedded.state import load_state

WORKERS_FOLDER = "workers"
WORKER_STOP_TIMEOUT_S = 10.0
_GENTLE = ((signal.SIGTERM, 10.0),)
_WORKER_MODULES = ("worker", "muster.runtime")


@dataclass(frozen=True, slots=True)
class WorkerProcesses:
    """The living processes of one worker: its daemon, and its warm parent, which may outlive the daemon."""

    worker: str
    daemon: ProcessId | None
    parent: ProcessId | None

    @property
    def living(self) -> tuple[ProcessId, ...]:
        return tuple(process for process in (self.daemon, self.parent) if process is not None)


def find_workers(home: Path) -> tuple[WorkerProcesses, ...]:
    """Return the workers of the local driver with living processes."""
    folders = sorted((home / WORKERS_FOLDER).glob("*/"))
    # The driver records a daemon's pid before the daemon starts; the daemon records it when it runs.
    found = (
        WorkerProcesses(
            folder.name,
            _holder(folder / "launch.lock") or _holder(folder / "daemon.lock"),
            _holder(folder / "parent" / "parent.lock"),
        )
        for folder in folders
    )
    return tuple(worker for worker in found if worker.living)


def end_workers(home: Path) -> None:
    """End all workers with their ranks; journals stay on disk.

    A daemon ends its own warm parent, and would restart one that ends first; so warm parents are only
    signalled if their daemon has ended.
    """
    trees = {member for worker in find_workers(home) for one in worker.living for member in _tree(one)}
    for part in ("daemon", "parent"):
        asked = [process for worker in find_workers(home) if (process := getattr(worker, part)) is not None]
        for process in asked:
            process.send(signal.SIGTERM)
        _await_end(asked, WORKER_STOP_TIMEOUT_S)
    for worker in find_workers(home):
        for process in worker.living:
            trees |= set(_tree(process))
    _kill(trees)


def end_leftovers(home: Path) -> int:
    """End every process of a platform without a supervisor; return their number.

    They are found by the state file (pid and start time), and by the variable in their environment.
    """
    state = load_state(home)
    known = {part.process for part in state.parts if part.process is not None} if state else set()
    living = {process for process in known if process.is_alive()} | set(find_marked(home))
    services = [process for process in living if _is_service(process)]
    for process in services:
        process.send(signal.SIGTERM)
    _await_end(services, 12.0)
    end_workers(home)
    rest = [process for process in living if process.is_alive()]
    for process in rest:
        end_foreign(process, _signs(process))
    _kill(set(find_marked(home)))
    return len(living)


def find_marked(home: Path) -> Iterator[ProcessId]:
    """Yield all living processes with this platform's mark, and Postgres, which overwrites its environment."""
    if postmaster := find_postmaster(Home(home).data("postgres")):
        yield postmaster
    mark = f"{MARKER}={home}".encode()
    for process in psutil.process_iter():
        with suppress(OSError):
            variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            if mark in variables and (identity := ProcessId.of(process.pid)) is not None:
                yield identity


def _holder(lock: Path) -> ProcessId | None:
    """Return the living process of a lock file. The lock itself is not tried: that could stop a starting process."""
    with suppress(OSError, ValueError, IndexError):
        pid = int(lock.read_text().split()[0])
        if any(argument in _command_line(pid) for argument in _WORKER_MODULES):
            return ProcessId.of(pid)
    return None


def _tree(root: ProcessId) -> list[ProcessId]:
    with suppress(psutil.Error):
        children = psutil.Process(root.pid).children(recursive=True)
        return [root, *(identity for child in children if (identity := ProcessId.of(child.pid)))]
    return [root]


def _kill(processes: set[ProcessId]) -> None:
    for process in processes:
        process.send(signal.SIGKILL)
    _await_end(processes, 5.0)


def _await_end(processes: Iterable[ProcessId], timeout_s: float) -> None:
    wait_until(lambda: not any(process.is_alive() for process in processes), timeout_s, pause_s=0.05)


def _signs(process: ProcessId) -> StopSigns:
    """Return the stop signals of a server: SIGINT for Postgres; none for SeaweedFS, which stops slowly and loses nothing."""
    program = (_command_line(process.pid) or [""])[0]
    if program.endswith("/postgres"):
        return PostgresServer.stop_signs
    return () if program.endswith("/weed") else _GENTLE


def _is_service(process: ProcessId) -> bool:
    return any(argument.startswith("services.") for argument in _command_line(process.pid))


def _command_line(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    return []
