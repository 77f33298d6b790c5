"""What ended processes left running: which run it is of, and what it is called."""

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
"""Processes of Python's and torch's own, which end by themselves a moment after their program."""


def run_of(pid: int, runs: Collection[str]) -> str | None:
    """Whose a process is that has left its session, of these runs: its control group says it, or a folder of the run in the environment
    that it was executed with. None: neither does."""
    told = _read(pid, "cgroup") + _read(pid, "environ")
    return next((run for run in runs if run.encode() in told), None)


def is_helper(pid: int) -> bool:
    """Whether Python started it beside a program, which nobody has to hear of."""
    command = _read(pid, "cmdline")
    return any(helper in command for helper in _HELPERS)


def name_of(pid: int) -> str:
    """Its name, as the kernel has it; what cannot be printed is left out."""
    name = _read(pid, "comm").decode(errors="replace").strip()
    return "".join(letter for letter in name if letter.isprintable()) or "unnamed"


def process_list_text(names: Iterable[str]) -> str:
    """Names with how often each occurs, the first few of them; empty where there is none."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    told = [name if count == 1 else f"{name} ({count} times)" for name, count in sorted(counts.items())]
    more = len(told) - MOST_NAMED
    return ", ".join(told[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _read(pid: int, file: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{file}").read_bytes()
    return b""
