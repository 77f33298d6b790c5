"""Measures the disk usage of a run, and enforces its limit."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from worker.sandbox.taken_space import BLOCK_BYTES, taken_bytes
from worker.sandbox.trial_files import walk

LOOK_EVERY_S = 5.0


async def watch_limit(
    folder: Path, limit_bytes: int, user: int | None, on_over: Callable[[str], None]
) -> None:
    """Check the directory's size periodically, and call `on_over` once when it exceeds the limit.

    Single files are limited by the ranks' own RLIMIT_FSIZE; this check catches many files. `user`: the run's own user id, whose deleted
    files count while they are open; None: it has none of its own.
    """
    while True:
        if await asyncio.to_thread(taken_bytes, folder, user) > limit_bytes:
            break
        await asyncio.sleep(LOOK_EVERY_S)
    on_over(
        f"the trial's files exceed the limit of {limit_bytes / 2**20:g} MiB per run (MUSTER_WORKER__RUN_BYTES): "
        "output, checkpoints until they are uploaded, and files it writes into its directory. "
        "Each file counts with at least its share of the disk"
    )


def used_bytes(folder: Path) -> int:
    """Return the disk usage of a directory, without following links. Files that vanish meanwhile are not counted."""
    with suppress(OSError):
        return (
            sum(entry.status.st_blocks for entry in walk(folder.parent, folder.name, is_strict=False))
            * BLOCK_BYTES
        )
    return 0
