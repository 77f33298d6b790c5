"""The executor port: starts and ends the processes of runs, and reports their state."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from muster import wire
from worker.core.resource_usage import Usage

Order = wire.Launch | wire.OpenRendezvous | wire.Kill | wire.Forget
"""Orders to an executor. Each has its run and globally unique process names: a repeated order starts one process."""


@dataclass(frozen=True, slots=True)
class ExecutorEvents:
    """Callbacks: for every process at each (re)connection and each change, and once all living ones were reported."""

    on_process: Callable[[wire.ProcessFrame], None]
    on_ready: Callable[[], None]


class Executor(Protocol):
    """Manages processes that outlive this daemon: the next daemon on the same directory gets their state until it sends Forget.

    Other layers must not inspect processes of this machine. To them a process has a name, an opaque number, an
    exit code (negative: the signal that ended it), and files in the directory of its run.
    """

    @property
    def is_ready(self) -> bool:
        """Whether orders are executed now; until then they are queued."""

    def send(self, order: Order) -> None:
        """Send an order; orders keep their sequence. Callbacks report the outcome."""

    async def run(self) -> None:
        """Stay connected to the processes until `begin_end`."""

    def begin_end(self) -> None:
        """Stop replacing parts that fail."""

    async def quit(self) -> None:
        """End all its processes, and return."""


class Processes(Protocol):
    """Inspects an executor's processes. A session identifies a launched process and all its descendants."""

    def session_of(self, pid: int) -> int:
        """Return the session of a living process; 0 if there is no such process."""

    def find(self, pid: int, sessions: Collection[int]) -> int:
        """Return the process of these sessions whose number is `pid` to itself, in a PID namespace of its own; 0 if there is none."""

    def used_s(self) -> Mapping[int, float]:
        """Return the CPU seconds used by the living processes of each session."""

    def usage(self, sessions: Collection[int]) -> Usage:
        """Return the total usage of the living processes of these sessions."""

    def ask_stacks(self, pid: int) -> None:
        """Make a rank dump the stacks of its threads."""
