"""Processes of this machine, as a test sees them: those of a sandbox have other numbers within it."""

from contextlib import suppress
from pathlib import Path


def processes_of(command: str) -> list[int]:
    """Return the living processes whose command line, with spaces between its words, contains `command`."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and command in (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode():
                found.append(int(entry.name))
    return found
