"""The port: what starts and ends the processes of runs, wherever they live, and tells of each."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from muster import wire
from worker.core.profile import Usage

Order = wire.Launch | wire.OpenRendezvous | wire.Kill | wire.Forget
"""What an executor is asked for. Each names its run, and processes by names that are unique for ever: asking twice for one starts one."""


@dataclass(frozen=True, slots=True)
class ExecutorEvents:
    """Who is told: of every process at each (re)connection and at each change; when all living ones were told."""

    on_process: Callable[[wire.ProcessFrame], None]
    on_ready: Callable[[], None]


class Executor(Protocol):
    """Holds processes that outlive this daemon: the next one on the same directory is told of them, until it has them forgotten.

    Nothing above it may look for a process on this machine: a process has a name, a number that only its executor can read, an
    exit code (negative: the signal that ended it), and files in the folder of its run, which the executor brings to where it lives.
    """

    @property
    def is_ready(self) -> bool:
        """Whether orders are carried out now; until then they wait in their order."""

    def send(self, order: Order) -> None:
        """Ask for something; order is kept. What becomes of it is told by events."""

    async def run(self) -> None:
        """Keep in touch with what holds the processes, until the end has begun."""

    def begin_end(self) -> None:
        """Replace nothing any more that goes away."""

    async def quit(self) -> None:
        """End every process that it holds, and return."""


class Processes(Protocol):
    """A look at an executor's processes. A session is what one launched process, and all that it started in it, is known by."""

    def session_of(self, pid: int) -> int:
        """The session of a living process; 0 where there is no such process."""

    def used_s(self) -> Mapping[int, float]:
        """The processor time, in seconds, that the living processes of each session have used."""

    def usage(self, sessions: Collection[int]) -> Usage:
        """What the living processes of these sessions use, all together."""

    def ask_stacks(self, pid: int) -> None:
        """Have a rank write down where its threads are."""
