"""Files of checkpoints that this machine has, by tenant and hash: what was saved here, or fetched once, is not fetched again."""

import shutil
import threading
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from shared.messages.files import FileEntry
from worker.transfer.cache_space import CacheSpace
from worker.transfer.http import hash_file


class FileCache:
    """Whole files. User code could reach them, so that each is verified when it is used."""

    def __init__(self, directory: Path, space: CacheSpace) -> None:
        self._directory = directory
        self._space = space

    def take(self, tenant: UUID, entry: FileEntry, target: Path) -> bool:
        """Copy a file to `target`, as a copy and no link: a run may write into it. False when it is not here, or not whole any more.

        Raises:
            OSError: The disk is full or broken.
        """
        place = self._place(tenant, entry)
        with self._space.holding(place) as is_here:
            if not is_here:
                return False
            try:
                shutil.copyfile(place, target)
            except FileNotFoundError:
                return False
            if hash_file(target) == (entry.sha256, entry.size_bytes):
                return True
        self._space.drop(place)
        return False

    def move_in(self, tenant: UUID, entry: FileEntry, source: Path) -> None:
        """Take over a file; where it is gone, or too large for the cache, there is just one less."""
        place = self._place(tenant, entry)
        with suppress(OSError):
            if not source.is_symlink() and self._space.admit(place, entry.size_bytes):
                source.replace(place)

    def copy_in(self, tenant: UUID, entry: FileEntry, source: Path) -> None:
        """Keep a copy of a file; without room there is just one less."""
        place = self._place(tenant, entry)
        unfinished = place.with_suffix(f".{threading.get_ident()}")  # a checkpoint may hold a content twice
        try:
            if self._space.admit(place, entry.size_bytes):
                shutil.copyfile(source, unfinished)
                unfinished.replace(place)
        except OSError:
            unfinished.unlink(missing_ok=True)
            self._space.drop(place)

    def _place(self, tenant: UUID, entry: FileEntry) -> Path:
        return self._directory / str(tenant) / entry.sha256
