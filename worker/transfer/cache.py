"""The cache of checkpoint files on this machine, by tenant and hash: saved or fetched files are not fetched again."""

import shutil
import threading
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from shared.messages.files import FileEntry
from worker.sandbox.trial_files import TrialFile, link_trial_file
from worker.transfer.cache_space import CacheSpace
from worker.transfer.http import hash_file


class FileCache:
    """A cache of files. User code may be able to modify them, so each is verified when it is used."""

    def __init__(self, directory: Path, space: CacheSpace) -> None:
        self._directory = directory
        self._space = space

    def take(self, tenant: UUID, entry: FileEntry, target: Path) -> bool:
        """Copy a file to `target` (no link: a run may modify it). Return False if it is not cached or damaged.

        Raises:
            OSError: The disk is full or broken.
        """
        path = self._path(tenant, entry)
        with self._space.holding(path) as is_here:
            if not is_here:
                return False
            try:
                shutil.copyfile(path, target)
            except FileNotFoundError:
                return False
            if hash_file(target) == (entry.sha256, entry.size_bytes):
                return True
        self._space.drop(path)
        return False

    def link_in(self, tenant: UUID, entry: FileEntry, source: TrialFile) -> None:
        """Link a trial's file into the cache; skip it if it is missing, was exchanged for a link, or is too large."""
        path = self._path(tenant, entry)
        unfinished = path.with_suffix(f".{threading.get_ident()}")
        try:
            if self._space.admit(path, entry.size_bytes):
                link_trial_file(source, unfinished)
                unfinished.replace(path)
        except OSError:
            self._space.drop(path)
        with suppress(OSError):  # left over if both names already are the same file
            unfinished.unlink(missing_ok=True)

    def copy_in(self, tenant: UUID, entry: FileEntry, source: Path) -> None:
        """Copy a file into the cache; skip it on a full disk."""
        path = self._path(tenant, entry)
        unfinished = path.with_suffix(
            f".{threading.get_ident()}"
        )  # a checkpoint may contain the same content twice
        try:
            if self._space.admit(path, entry.size_bytes):
                shutil.copyfile(source, unfinished)
                unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            self._space.drop(path)

    def _path(self, tenant: UUID, entry: FileEntry) -> Path:
        return self._directory / str(tenant) / entry.sha256
