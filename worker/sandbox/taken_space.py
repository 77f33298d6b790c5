"""Measures the disk space of a run or an installation, including deleted files that are still open."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from worker.sandbox.trial_files import walk

BLOCK_BYTES = 512


def taken_bytes(folder: Path, user: int | None) -> int:
    """Return what a run takes of its disk: a file takes an inode too, which counts as its share of the disk's bytes."""
    with suppress(OSError):
        disk = os.statvfs(folder)
        least = disk.f_blocks * disk.f_frsize // disk.f_files if disk.f_files else 0
        found = walk(folder.parent, folder.name, is_strict=False)
        linked = sum(max(entry.status.st_blocks * BLOCK_BYTES, least) for entry in found)
        return linked + (0 if user is None else _deleted_bytes(user, folder.stat().st_dev))
    return 0


def _deleted_bytes(user: int, device: int) -> int:
    """Return the disk usage of deleted files that processes of a user still have open."""
    found = {}
    for process in os.scandir("/proc"):
        with suppress(OSError):
            if not process.name.isdigit() or process.stat().st_uid != user:
                continue
            for descriptor in Path(process.path, "fd").iterdir():
                with suppress(OSError):
                    file = descriptor.stat()
                    if not file.st_nlink and file.st_dev == device and stat.S_ISREG(file.st_mode):
                        found[file.st_ino] = file.st_blocks * BLOCK_BYTES
    return sum(found.values())
