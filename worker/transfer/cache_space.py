"""The shared size limit of the worker's caches of code and checkpoint files, with least-recently-used eviction.

An entry is a file or directory `<kind>/<tenant>/<name>`. Its modification time on disk records its last use, so
that a restarted daemon knows it.
"""

import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from worker.sandbox.trial_files import remove_tree
from worker.transfer.disk_usage import used_bytes

UNFINISHED = "fetch-"
"""Name prefix of directories of unfinished downloads."""


class CacheSpace:
    """Cache entries with their sizes. Thread-safe."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        """Index existing entries; delete unfinished downloads and entries beyond the limit."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._held: Counter[Path] = Counter()
        for unfinished in directory.glob(f"*/{UNFINISHED}*"):
            remove_tree(unfinished)
        found = sorted(directory.glob("*/*/*"), key=_used_at)
        self._sizes = OrderedDict((entry, _size_bytes(entry)) for entry in found)
        self._total_bytes = sum(self._sizes.values())
        self._drop_down_to(limit_bytes)

    @contextmanager
    def holding(self, entry: Path) -> Iterator[bool]:
        """Yield whether the entry exists; mark it as used, and protect it from eviction during the block."""
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
                    self._held += Counter()  # drop zero counts

    def admit(self, entry: Path, size_bytes: int) -> bool:
        """Reserve space for a new entry and evict others. Return False if it does not fit beside protected entries.

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
        """Remove an entry or a reservation."""
        with self._lock:
            self._remove(entry)

    def _drop_down_to(self, limit_bytes: int) -> None:
        for entry in list(self._sizes):
            if self._total_bytes <= limit_bytes:
                return
            if entry not in self._held:
                self._remove(entry)

    def _remove(self, entry: Path) -> None:
        self._total_bytes -= self._sizes.pop(entry, 0)
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        else:
            with suppress(OSError):
                entry.unlink()


def _used_at(entry: Path) -> float:
    return entry.lstat().st_mtime


def _size_bytes(entry: Path) -> int:
    return used_bytes(entry) if entry.is_dir() else entry.lstat().st_size
