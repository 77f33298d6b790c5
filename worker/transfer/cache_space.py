"""What a worker keeps so as not to fetch it again, code and files of checkpoints together, within one limit: what was not used for longest goes first.

An entry is a file or a folder `<kind>/<tenant>/<name>` below one directory. When each was used last stands in its time on disk, so
that a restarted daemon knows it.
"""

import os
import shutil
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from worker.transfer.disk_usage import used_bytes

UNFINISHED = "fetch-"
"""How the folders begin in which something is being fetched, beside those of the tenants."""


class CacheSpace:
    """The entries with their sizes. Threads may share it."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        """Take up what is there; what is over the limit goes, and what an earlier daemon was fetching."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._held: Counter[Path] = Counter()
        for unfinished in directory.glob(f"*/{UNFINISHED}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        found = sorted(directory.glob("*/*/*"), key=_used_at)
        self._sizes = OrderedDict((entry, _size_bytes(entry)) for entry in found)
        self._total_bytes = sum(self._sizes.values())
        self._drop_down_to(limit_bytes)

    @contextmanager
    def holding(self, entry: Path) -> Iterator[bool]:
        """Yield whether the entry is here; it is used now, and stays for as long as the block lasts."""
        with self._lock:
            is_here = entry in self._sizes
            if is_here:
                self._held[entry] += 1
                self._sizes.move_to_end(entry)
        if is_here:
            with suppress(OSError):
                os.utime(entry)
        try:
            yield is_here
        finally:
            if is_here:
                with self._lock:
                    self._held[entry] -= 1
                    self._held += Counter()  # without those that are held no more

    def admit(self, entry: Path, size_bytes: int) -> bool:
        """Count an entry that is about to be made, in place of others; False where it would not fit beside what is held.

        Raises:
            OSError: Its folder cannot be made.
        """
        with self._lock:
            held_bytes = sum(self._sizes.get(one, 0) for one in self._held if one != entry)
            if size_bytes + held_bytes > self._limit_bytes:
                return False
            self._total_bytes -= self._sizes.pop(entry, 0)
            self._drop_down_to(self._limit_bytes - size_bytes)
            entry.parent.mkdir(parents=True, exist_ok=True)
            self._sizes[entry] = size_bytes
            self._total_bytes += size_bytes
            return True

    def drop(self, entry: Path) -> None:
        """Remove an entry, or the promise of one."""
        with self._lock:
            self._remove(entry)

    def _drop_down_to(self, most_bytes: int) -> None:
        for entry in list(self._sizes):
            if self._total_bytes <= most_bytes:
                return
            if entry not in self._held:
                self._remove(entry)

    def _remove(self, entry: Path) -> None:
        self._total_bytes -= self._sizes.pop(entry, 0)
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with suppress(OSError):
                entry.unlink()


def _used_at(entry: Path) -> float:
    return entry.lstat().st_mtime


def _size_bytes(entry: Path) -> int:
    return used_bytes(entry) if entry.is_dir() else entry.lstat().st_size
