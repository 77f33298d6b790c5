"""Free space and inodes where processes write."""

import os
from pathlib import Path

from deploy.checks.findings import Finding, error, ok, warning
from deploy.embedded.preflight import NEEDED_BYTES

WHY = "A process that cannot write stops taking work; runs fail, and checkpoints are lost."
LITTLE_BYTES = 5 * 1024**3
LITTLE_PART = 20
LEAST_INODES = 1000
_FREE = "delete files, or use a folder on another disk"


def check_disk(folder: Path, needed_bytes: int = NEEDED_BYTES) -> Finding:
    """Check permission, free bytes and free inodes of the disk of a folder that may not exist yet."""
    nearest = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not nearest.is_dir():
        return error(f"{nearest} is not a folder", "correct the path in the settings")
    if not os.access(nearest, os.W_OK | os.X_OK):
        return error(
            f"{nearest} is not writable for the user with id {os.geteuid()}",
            "give the folder to the user of the process, or run the check as this user",
        )
    disk = os.statvfs(nearest)
    free, total = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    text = f"{_size(free)} of {_size(total)} free, {disk.f_favail:,} inodes free"
    if free < needed_bytes:
        return error(f"{text}; at least {_size(needed_bytes)} are needed", _FREE)
    has_inodes = disk.f_files > 0  # file systems such as btrfs have no fixed number
    if has_inodes and disk.f_favail < LEAST_INODES:
        return error(
            f"{text}; each file needs an inode",
            "delete small files, or create the file system with more inodes",
        )
    if free < total / LITTLE_PART and free < LITTLE_BYTES:
        return warning(f"{text}; that is less than a twentieth", _FREE)
    if has_inodes and disk.f_favail < disk.f_files / LITTLE_PART:
        return warning(f"{text}; that is less than a twentieth of the inodes", "delete small files")
    return ok(text)


def _size(count: float) -> str:
    return f"{count / 1024**3:,.1f} GiB" if count >= 1024**3 else f"{count / 1024**2:,.0f} MiB"
