"""Files of checkpoints that this machine has, by tenant and hash: what was saved here, or fetched once, is not fetched again."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from shared.messages.files import FileEntry
from worker.files.transfer import hash_file


class FileCache:
    """Whole files, the ones not used for longest dropped first. User code could reach them, so that each is verified when it is used."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes

    def take(self, tenant: UUID, entry: FileEntry, target: Path) -> bool:
        """Copy a file to `target`, as a copy and no link: a run may write into it. False when it is not here, or not whole any more.

        Raises:
            OSError: The disk is full or broken.
        """
        place = self._place(tenant, entry)
        try:
            shutil.copyfile(place, target)
            os.utime(place)
        except FileNotFoundError:
            return False
        if hash_file(target) == (entry.sha256, entry.size_bytes):
            return True
        place.unlink(missing_ok=True)
        return False

    def move_in(self, tenant: UUID, entry: FileEntry, source: Path) -> None:
        """Take over a file; where it is gone, there is just one less."""
        with suppress(OSError):
            if not source.is_symlink():
                source.replace(self._place(tenant, entry))

    def copy_in(self, tenant: UUID, entry: FileEntry, source: Path) -> None:
        """Keep a copy of a file; without room there is just one less."""
        place = self._place(tenant, entry)
        unfinished = place.with_suffix(".new")
        try:
            shutil.copyfile(source, unfinished)
            unfinished.replace(place)
        except OSError:
            unfinished.unlink(missing_ok=True)

    def trim(self) -> None:
        """Drop the files not used for longest until the rest is below the limit."""
        files = [(path.stat(), path) for path in self._directory.rglob("*") if path.is_file()]
        total = sum(found.st_size for found, _ in files)
        for found, path in sorted(files, key=lambda file: file[0].st_mtime):
            if total <= self._limit_bytes:
                return
            total -= found.st_size
            path.unlink(missing_ok=True)

    def _place(self, tenant: UUID, entry: FileEntry) -> Path:
        place = self._directory / str(tenant) / entry.sha256
        place.parent.mkdir(parents=True, exist_ok=True)
        return place
