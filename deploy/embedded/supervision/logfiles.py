"""The supervisor's own log, and the rotation of all logs: copied and truncated, because writers keep their files open."""

import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

LARGEST_BYTES = 16 * 1024 * 1024
MAX_ROTATED = 3


def rotate_logs(folder: Path, largest_bytes: int = LARGEST_BYTES, max_rotated: int = MAX_ROTATED) -> None:
    """Move logs that exceed the size to `<name>.1`, older ones one number up; the oldest is deleted.

    Lines written between copy and truncation are lost.
    """
    for log in folder.glob("*.log"):
        with suppress(OSError):
            if log.stat().st_size <= largest_bytes:
                continue
            for number in range(max_rotated - 1, 0, -1):
                older = log.with_name(f"{log.name}.{number}")
                if older.exists():
                    older.replace(log.with_name(f"{log.name}.{number + 1}"))
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            os.truncate(log, 0)


def note(sentence: str) -> None:
    """Write a line with the time (UTC) to the supervisor's log; ignore a full disk."""
    with suppress(OSError):
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), sentence, file=sys.stderr, flush=True)
