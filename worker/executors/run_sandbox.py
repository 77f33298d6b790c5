"""The port of sandboxes that hold a warm parent of one run's own. Neighbours: `parents` talks to that parent, `container` implements the port."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StartCommand:
    """A program of the machine, with its environment."""

    argv: Sequence[str]
    environment: Mapping[str, str]


class RunSandbox(Protocol):
    """The sandbox of one run on this machine. The next daemon builds an equal object from the run's record.

    `folder` and `launches` are visible inside at the same paths and writable there: the warm parent's socket and records, and the
    descriptions of the processes that it starts. Only the worker may write to the folders that contain them. `log` receives the output of
    the start command, and lies outside.
    """

    @property
    def folder(self) -> Path:
        """The folder shared with the warm parent."""

    @property
    def launches(self) -> Path:
        """The folder for descriptions of processes."""

    @property
    def owner(self) -> int | None:
        """The user of the processes inside; None: the worker's."""

    @property
    def log(self) -> Path:
        """The log file of the warm parent."""

    def start_command(self, arguments: Sequence[str]) -> StartCommand:
        """Return the command that creates the sandbox, replacing an earlier one of the run, and runs Python with these arguments inside.

        It must stay in the foreground until the sandbox ends, and outlive the daemon. Inside, `muster` can be imported.
        """

    def end(self) -> None:
        """Kill every process of the sandbox and remove it; no effect if there is none. Blocks."""
