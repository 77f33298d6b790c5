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


def number_outside(run: Path, number: int) -> int:
    """Return this machine's number of a process of the run in this folder of a worker, by the number that the process has to itself."""
    user = (run / "home").stat().st_uid
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                status = (entry / "status").read_text().splitlines()
                if next(line for line in status if line.startswith("NSpid:")).split()[-1] == str(number):
                    return int(entry.name)
    raise LookupError(f"no process {number} of {run} lives")
