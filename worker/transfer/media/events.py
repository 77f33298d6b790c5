"""Finds TensorBoard event files below a directory that user code writes, without following links."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
    """Yield the event files below `folder`, each open until the next one, up to a limit."""
    if not folder.is_dir():
        return
    found = folders = 0
    for path, below, names, handle in os.fwalk(folder, follow_symlinks=False):
        below.sort()
        here = Path(path).relative_to(folder)
        if len(here.parts) >= MAX_DEPTH:
            below.clear()
        folders += 1
        for name in sorted(name for name in names if MARK in name)[: MAX_FILES - found]:
            if (file := _open(name, handle)) is None:
                continue
            try:
                found += 1
                yield EventFile((here / name).as_posix(), file, os.fstat(file).st_size)
            finally:
                os.close(file)
        if found >= MAX_FILES or folders >= MAX_FOLDERS:
            return


def _open(name: str, folder: int) -> int | None:
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None
