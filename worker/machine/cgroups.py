"""A control group for each run on this machine: the kernel bounds its memory and its processes, and knows all that it forked.

Where this worker has the right to make one: as root, or below a group that was delegated to it. Both of Linux's hierarchies.
"""

import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from shared.ids import RunId, WorkerId
from worker.machine.oom_kills import count_kills

MOUNT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
DAEMON = "muster-daemon"
_PROCS = "cgroup.procs"
_ANY_RUN = "?" * 36
"""A run's id: the groups of worker `a-b` are not those of worker `a`."""
_log = structlog.get_logger()

Bounded = Literal["memory", "pids"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run may have for each of its slots; None: no bound."""

    memory_bytes: int | None = None
    processes: int | None = None

    def of(self, slots: int) -> dict[Bounded, int]:
        """What a run of so many slots may have; one with a part of a slot has a whole one's."""
        per_slot: dict[Bounded, int | None] = {"memory": self.memory_bytes, "pids": self.processes}
        return {name: value * max(1, slots) for name, value in per_slot.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Tree:
    """One hierarchy: its group that this worker may divide, and where that keeps limits and counts. `swap`: the limit of swap, and whether that
    is the sum of both."""

    base: Path
    limits: Mapping[Bounded, str]
    swap: tuple[str, bool] | None
    events: str


class Cgroups:
    """The groups of this worker's runs; without trees it bounds nothing."""

    def __init__(self, worker: WorkerId, bounds: Bounds, trees: tuple[Tree, ...] = ()) -> None:
        self._prefix = f"muster-{worker}-"
        self._bounds = bounds
        self._trees = trees

    def make(self, run: RunId, slots: int) -> None:
        """Make the run's groups, or set their limits anew. Raises OSError where the kernel refuses."""
        wanted = self._bounds.of(slots)
        for tree, group in self._groups(run):
            group.mkdir(exist_ok=True)
            self._set_swap(
                group, tree, wanted
            )  # first where limits rise, last where they sink: neither may be above the other
            for name, file in tree.limits.items():
                (group / file).write_text(str(wanted[name]))
            self._set_swap(group, tree, wanted)

    def procs_files(self, run: RunId) -> list[str]:
        """Where a process of the run writes itself in, as its first act."""
        return [str(group / _PROCS) for _, group in self._groups(run) if group.is_dir()]

    def kills(self, run: RunId) -> int | None:
        """How many processes of the run the kernel has killed for lack of memory; None where it keeps no count of its own."""
        counts = [
            count_kills(group / tree.events) for tree, group in self._groups(run) if "memory" in tree.limits
        ]
        return sum(counts) if counts else None

    def end(self, run: RunId) -> None:
        """Kill whatever is left of the run, wherever it went."""
        for _, group in self._groups(run):
            with suppress(OSError):
                for pid in map(int, (group / _PROCS).read_text().split()):
                    os.kill(pid, signal.SIGKILL)

    def drop(self, run: RunId) -> None:
        """Remove the run's groups; one that still has a process in it goes with the next start's `sweep`."""
        for _, group in self._groups(run):
            with suppress(OSError):
                group.rmdir()

    def sweep(self, known: Iterable[RunId]) -> None:
        """Remove groups of runs that are no longer here."""
        kept = {f"{self._prefix}{run}" for run in known}
        for tree in self._trees:
            for group in tree.base.glob(self._prefix + _ANY_RUN):
                if group.name not in kept:
                    with suppress(OSError):
                        group.rmdir()

    def _set_swap(self, group: Path, tree: Tree, wanted: Mapping[Bounded, int]) -> None:
        if tree.swap is None:
            return
        file, is_sum = tree.swap
        with suppress(OSError):  # without swap accounting there is no such file
            (group / file).write_text(str(wanted["memory"] if is_sum else 0))

    def _groups(self, run: RunId) -> list[tuple[Tree, Path]]:
        return [(tree, tree.base / f"{self._prefix}{run}") for tree in self._trees]


def open_cgroups(worker: WorkerId, bounds: Bounds) -> Cgroups:
    """The groups of a worker; where it has no right to them, that is said, and runs are not bounded."""
    try:
        return Cgroups(worker, bounds, claim_trees(bounds))
    except (OSError, ValueError) as error:
        _log.warning(
            "memory and processes of runs are not bounded: no control group can be made", why=str(error)
        )
        return Cgroups(worker, bounds)


def claim_trees(bounds: Bounds, mount: Path = MOUNT, own: Path = OWN) -> tuple[Tree, ...]:
    """The hierarchies in which the bounds can be set. In the unified one the daemon steps into a group of its own first: only one without
    processes may be divided.

    Raises:
        OSError: There is no right to it, or no such controller; it says which.
    """
    wanted = bounds.of(1)
    if not wanted:
        return ()
    own_groups = dict(_own_groups(own))
    if (mount / "cgroup.controllers").exists():
        return (_unified(mount / own_groups.get("", "/").lstrip("/"), wanted),)
    return tuple(_separate(mount / name / own_groups.get(name, "/").lstrip("/"), name) for name in wanted)


def _own_groups(own: Path) -> Iterable[tuple[str, str]]:
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _unified(base: Path, wanted: Mapping[Bounded, int]) -> Tree:
    if base.name == DAEMON:
        base = base.parent  # an earlier daemon had it so, and this is its child
    missing = set(wanted) - set((base / "cgroup.controllers").read_text().split())
    if missing:
        raise OSError(f"{base} has no controller {' and '.join(sorted(missing))}")
    (base / DAEMON).mkdir(exist_ok=True)
    (base / DAEMON / _PROCS).write_text(str(os.getpid()))
    (base / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
    limits: dict[Bounded, str] = {name: f"{name}.max" for name in wanted}
    return Tree(base, limits, ("memory.swap.max", False) if "memory" in wanted else None, "memory.events")


def _separate(base: Path, name: Bounded) -> Tree:
    if not os.access(base, os.W_OK):
        raise OSError(f"{base} is not there or may not be written to")
    if name == "pids":
        return Tree(base, {"pids": "pids.max"}, None, "pids.events")
    swap = "memory.memsw.limit_in_bytes", True
    return Tree(base, {"memory": "memory.limit_in_bytes"}, swap, "memory.oom_control")
