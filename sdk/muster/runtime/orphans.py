"""Processes left running by ended ranks: the run that they belong to, and their names."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

MOST_NAMED = 5
_HELPERS = (
    b"multiprocessing.resource_tracker",
    b"multiprocessing.forkserver",
    b"multiprocessing.spawn",
    b"torch._inductor.compile_worker",
)
"""Helper processes of Python and torch, which end shortly after their program."""


def run_of(pid: int, runs: Collection[str]) -> str | None:
    """Return which of these runs a process outside its session belongs to, by its control group or by a folder of the run in its
    environment; None if unknown.
    """
    describeds = _read(pid, "cgroup") + _read(pid, "environ")
    return next((run for run in runs if run.encode() in describeds), None)


def is_helper(pid: int) -> bool:
    """Whether Python or torch started the process as a helper, which is not reported."""
    command = _read(pid, "cmdline")
    return any(helper in command for helper in _HELPERS)


def name_of(pid: int) -> str:
    """Return the process name from the kernel, without unprintable characters."""
    name = _read(pid, "comm").decode(errors="replace").strip()
    return "".join(letter for letter in name if letter.isprintable()) or "unnamed"


def process_list_text(names: Iterable[str]) -> str:
    """Format process names with their counts, limited to the first few; empty if there are none."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    describeds = [name if count == 1 else f"{name} ({count} times)" for name, count in sorted(counts.items())]
    more = len(describeds) - MOST_NAMED
    return ", ".join(describeds[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _read(pid: int, file: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{file}").read_bytes()
    return b""
