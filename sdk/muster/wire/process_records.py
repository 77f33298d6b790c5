"""The warm parent's records of its processes, which outlive it."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

from muster.wire.frames import ProcessFrame

PROCESSES = "processes"
LOCK = "parent.lock"
_FIELDS = frozenset(part.name for part in fields(ProcessFrame))
LOST = "the warm parent died, and its processes with it"


def read_ended(folder: Path) -> Iterator[ProcessFrame]:
    """Yield the processes recorded by a dead warm parent, all ended: with a recorded exit code, or killed by the kernel with the parent."""
    for path in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            kept = json.loads(path.read_text())
            process = ProcessFrame(**{name: kept[name] for name in kept.keys() & _FIELDS})
            yield process if process.exit_code is not None else replace(process, exit_code=-9, error=LOST)


def is_served(directory: Path) -> bool:
    """Whether a warm parent is running in this directory."""
    try:
        with (directory / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
