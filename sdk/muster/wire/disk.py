"""A full disk: recognised and told alike by the worker, its warm parent and its ranks."""

import errno
import os
from pathlib import Path

EXIT_DISK_FULL = 74
"""EX_IOERR of sysexits.h. A rank whose code let a full disk's error pass ends with it, so that the run is not charged."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException | None) -> bool:
    """Whether the error, or one that it came from, says that a disk or a quota has no room."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def disk_full(worker: str, folder: Path | str) -> OSError:
    """The error to raise for a full disk: whose it is, and what helps. Without a platform `worker` is empty."""
    return OSError(errno.ENOSPC, disk_full_text(worker, folder))


def disk_full_text(worker: str, folder: Path | str) -> str:
    """The one sentence about a full disk."""
    whose = f"the disk of worker {worker}" if worker else "the disk"
    return f"{whose} is full: free space under {folder}"


def write_pid(lock: int) -> None:
    """Write this process's id over what an earlier holder of the lock left, in its place: a full disk has room for that."""
    os.pwrite(lock, f"{os.getpid():<10}\n".encode(), 0)
