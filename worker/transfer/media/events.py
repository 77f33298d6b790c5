"""Finds TensorBoard event files below a directory that user code writes, without following links."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from worker.sandbox.trial_files import opened, walk

MARK = "tfevents"
"""Part of the name of every event file, whatever library writes it."""
MAX_FILES = 1_000
MAX_DEPTH = 8
MAX_FOLDERS = 5_000


@dataclass(frozen=True, slots=True)
class EventFile:
    """An open event file: path below the directory, descriptor, current size."""

    path: str
    file: int
    size: int


def event_files(folder: Path) -> Iterator[EventFile]:
    """Yield the event files below `folder`, each open until the next one, up to a limit. Never blocks on a pipe."""
    found = folders = 0
    # A folder that is missing, or exchanged for something else, has no files.
    with suppress(OSError):
        for entry in walk(folder, ".", is_strict=False, max_depth=MAX_DEPTH):
            folders += entry.is_folder
            if entry.is_file and MARK in entry.path.rpartition("/")[2]:
                with opened(folder, entry.path) as file:
                    if file is not None:
                        found += 1
                        yield EventFile(entry.path, file, os.fstat(file).st_size)
            if found >= MAX_FILES or folders >= MAX_FOLDERS:
                return
