"""What `muster status` knows: parts, workers, memory, and what a person should be warned of."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from deploy.embedded.leftovers import find_workers
from deploy.embedded.memory import pss_bytes, tree
from deploy.embedded.processes import ProcessId
from deploy.embedded.state import Part, State, load_state

ROOM_BYTES = 64 * 1024 * 1024
FAILING = "failing"
"""The state of a part that runs and does not serve as it should."""
ISOLATION_WARNING = (
    "trials run as the same user as their worker, so a worker is no boundary: one trusted tenant only"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One process of the platform, for a table. `restarted_for`: why it was started again the last time; `trouble`: what it fails to do."""

    name: str
    kind: str
    state: str
    pid: int | None
    ports: tuple[int, ...]
    uptime_s: float | None
    restarts: int
    pss_bytes: int
    restarted_for: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """One look at the platform.

    Attributes:
        running: whether a supervisor lives.
        phase: how far it is.
        platform_pss_bytes: supervisor, servers and services together.
        workers_pss_bytes: workers, warm parents and ranks together.
    """

    running: bool
    phase: str
    home: str
    url: str
    grpc: str
    message: str
    parts: tuple[Line, ...]
    workers: tuple[Line, ...]
    platform_pss_bytes: int
    workers_pss_bytes: int
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def look(home: Path) -> Report:
    """Look at the platform in a folder, running or not."""
    state = load_state(home)
    workers = _worker_lines(home)
    if state is None:
        return Report(False, "stopped", str(home), "", "", "", (), workers, 0, _sum(workers), ())
    running = state.supervisor.is_alive()
    parts = (_supervisor_line(state), *(_part_line(part) for part in state.parts)) if running else ()
    return Report(
        running=running,
        phase=state.phase if running or state.phase == "failed" else "stopped",
        home=str(home),
        url=state.url if running else "",
        grpc=state.grpc if running else "",
        message=state.message,
        parts=parts,
        workers=workers,
        platform_pss_bytes=_sum(parts),
        workers_pss_bytes=_sum(workers),
        warnings=(*_disk_warnings(home), *_part_warnings(parts), *_isolation_warnings(workers)),
    )


def _disk_warnings(home: Path) -> Iterator[str]:
    """On a full disk the supervisor cannot write what it has found of the parts."""
    free = shutil.disk_usage(home).free
    if free < ROOM_BYTES:
        yield f"the disk that holds {home} is full ({free // 2**20} MiB are free): free some space; what fails until then is not shown here"


def _part_warnings(parts: tuple[Line, ...]) -> Iterator[str]:
    return (f"{part.name}: {part.trouble}" for part in parts if part.trouble)


def _isolation_warnings(workers: tuple[Line, ...]) -> Iterator[str]:
    if not all(_is_isolating(line.pid) for line in workers):
        yield ISOLATION_WARNING


def _supervisor_line(state: State) -> Line:
    identity = state.supervisor
    return Line(
        "supervisor",
        "supervisor",
        "running",
        identity.pid,
        (),
        _uptime_s(identity),
        0,
        pss_bytes([identity.pid]),
    )


def _part_line(part: Part) -> Line:
    process = part.process if part.process is not None and part.process.is_alive() else None
    # A provisioner's workers are its children while it lives; they are counted apart.
    pids = tree([process]) if process is not None and part.kind == "server" else _pids(process)
    return Line(
        part.name,
        part.kind,
        FAILING if part.trouble and part.state == "running" else part.state,
        process.pid if process else None,
        part.ports,
        _uptime_s(process) if process else None,
        part.restarts,
        pss_bytes(pids),
        part.restarted_for,
        part.trouble,
    )


def _worker_lines(home: Path) -> tuple[Line, ...]:
    lines = []
    counted: set[int] = set()
    for worker in find_workers(home):
        pids = tree(worker.living) - counted
        counted |= pids
        first, state = worker.living[0], "running" if worker.daemon else "daemon gone"
        lines.append(
            Line(worker.worker, "worker", state, first.pid, (), _uptime_s(first), 0, pss_bytes(pids))
        )
    return tuple(lines)


def _is_isolating(pid: int | None) -> bool:
    """Whether a worker was told to run trials as another user."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return any(word.startswith(b"MUSTER_WORKER__USER=") and not word.endswith(b"=") for word in words)
    return False


def _pids(process: ProcessId | None) -> set[int]:
    return {process.pid} if process is not None else set()


def _sum(lines: tuple[Line, ...]) -> int:
    return sum(line.pss_bytes for line in lines)


def _uptime_s(process: ProcessId) -> float | None:
    """How long it has run: the kernel's start tick against the time since boot."""
    with suppress(OSError, psutil.Error):
        ticks = os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - process.started / ticks)
    return None
