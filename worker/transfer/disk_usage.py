"""Measures the disk usage of a run, and enforces its limit."""

import asyncio
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from worker.sandbox.trial_files import walk

LOOK_EVERY_S = 5.0
_BLOCK_BYTES = 512


async def watch_limit(
    folder: Path, limit_bytes: int, user: int | None, on_over: Callable[[str], None]
) -> None:
    """Check the directory's size periodically, and call `on_over` once when it exceeds the limit.

    Single files are limited by the ranks' own RLIMIT_FSIZE; this check catches many files. `user`: the run's own user id, whose deleted
    files count while they are open; None: it has none of its own.
    """
    while True:
        if await asyncio.to_thread(_taken_bytes, folder, user) > limit_bytes:
            break
        await asyncio.sleep(LOOK_EVERY_S)
    on_over(
        f"the trial's files exceed the limit of {limit_bytes / 2**20:g} MiB per run (MUSTER_WORKER__RUN_BYTES): "
        "output, checkpoints until they are uploaded, and files it writes into its directory. "
        "Each file counts with at least its share of the disk"
    )


def _taken_bytes(folder: Path, user: int | None) -> int:
    """Return what a run takes of its disk: a file takes an inode too, which counts as its share of the disk's bytes."""
    with suppress(OSError):
        disk = os.statvfs(folder)
        least = disk.f_blocks * disk.f_frsize // disk.f_files if disk.f_files else 0
        found = walk(folder.parent, folder.name, is_strict=False)
        linked = sum(max(entry.status.st_blocks * _BLOCK_BYTES, least) for entry in found)
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
                        found[file.st_ino] = file.st_blocks * _BLOCK_BYTES
    return sum(found.values())


def used_bytes(folder: Path) -> int:
    """Return the disk usage of a directory, without following links. Files that vanish meanwhile are not counted."""
    with suppress(OSError):
        return (
            sum(entry.status.st_blocks for entry in walk(folder.parent, folder.name, is_strict=False))
            * _BLOCK_BYTES
        )
    return 0
