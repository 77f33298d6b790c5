"""How much room a run takes on the worker's disk, and the end of one that takes more than it may."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LOOK_EVERY_S = 5.0
_BLOCK_BYTES = 512


async def watch_limit(folder: Path, most_bytes: int, on_over: Callable[[str], None]) -> None:
    """Look now and then until the folder holds more; then say so, once.

    A single file is bounded at once, by the ranks' own limit (RLIMIT_FSIZE); what is here found later are many.
    """
    while True:
        if await asyncio.to_thread(used_bytes, folder) > most_bytes:
            break
        await asyncio.sleep(LOOK_EVERY_S)
    on_over(
        f"the trial's files take more than the {most_bytes / 2**20:g} MiB that this worker gives a run (MUSTER_WORKER__RUN_BYTES): "
        "its output, its checkpoints until they are uploaded, and what it writes into its folder"
    )


def used_bytes(folder: Path) -> int:
    """The room that a folder takes on its disk. Links are not followed; what goes away meanwhile takes none."""
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
