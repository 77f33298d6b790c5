"""Processes of this machine, as a test sees them: those of a sandbox have other numbers within it."""

from contextlib import suppress
from pathlib import Path


def processes_of(command: str) -> list[int]:
    """Return the living processes whose command line, with spaces between its words, contains `command`."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if (
                entry.name.isdigit()
                and command in (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            ):
                found.append(int(entry.name))
    return found


def processes_in(run: Path) -> list[int]:
    """Return the living processes in the sandbox of the run in this folder of a worker."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and f"{run}/home " in (entry / "mountinfo").read_text():
                found.append(int(entry.name))
    return found


def number_outside(run: Path, number: int) -> int:
    """Return this machine's number of a process of the run in this folder of a worker, by the number that the process has to itself."""
    for pid in processes_in(run):
        with suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text().splitlines()
            if next(line for line in status if line.startswith("NSpid:")).split()[-1] == str(number):
                return pid
    raise LookupError(f"no process {number} of {run} lives")
