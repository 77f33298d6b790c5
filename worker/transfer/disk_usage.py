"""Measures the disk usage of a run, and enforces its limit."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LOOK_EVERY_S = 5.0
_BLOCK_BYTES = 512


async def watch_limit(folder: Path, limit_bytes: int, on_over: Callable[[str], None]) -> None:
    """Check the directory's size periodically, and call `on_over` once when it exceeds the limit.

    Single files are limited by the ranks' own RLIMIT_FSIZE; this check catches many files.
    """
    while True:
        if await asyncio.to_thread(used_bytes, folder) > limit_bytes:
            break
        await asyncio.sleep(LOOK_EVERY_S)
    on_over(
        f"the trial's files exceed the limit of {limit_bytes / 2**20:g} MiB per run (MUSTER_WORKER__RUN_BYTES): "
        "output, checkpoints until they are uploaded, and files it writes into its directory"
    )


def used_bytes(folder: Path) -> int:
    """Return the disk usage of a directory, without following links. Files that vanish meanwhile are not counted."""
    total = 0
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
    return total
