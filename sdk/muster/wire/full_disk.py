"""Full disks: detection and messages shared by the worker, its warm parent and its ranks."""

import errno
import os
from pathlib import Path

EXIT_DISK_FULL = 74
"""EX_IOERR of sysexits.h: exit code of a rank that did not catch a full-disk error, so that the run is not charged."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException | None) -> bool:
    """Whether the error or one of its causes reports a full disk or quota."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def disk_full(worker: str, folder: Path | str) -> OSError:
    """Return the error for a full disk, with the worker and the remedy. `worker` is empty without a platform."""
    return OSError(errno.ENOSPC, disk_full_text(worker, folder))


def disk_full_text(worker: str, folder: Path | str) -> str:
    """Return the message for a full disk."""
    whose = f"the disk of worker {worker}" if worker else "the disk"
    return f"{whose} is full: free space under {folder}"


def write_pid(lock: int) -> None:
    """Write this process's id over the content of the lock file; in-place writes work on a full disk."""
    os.pwrite(lock, f"{os.getpid():<10}\n".encode(), 0)
