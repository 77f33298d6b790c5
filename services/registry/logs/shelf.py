"""Copies of objects with log lines on this machine's disk: those that were packed here last, as far as there is room.

The store has them all, and whatever is not here, or cannot be read, comes from there. Neighbours: `packer`, which brings and takes, `contents`, which reads.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from uuid import UUID

import structlog

_NEW = ".new"
_log = structlog.get_logger()

Span = tuple[int, int]
"""Where something begins in an object, and where it ends."""


class LogShelf:
    """A folder of one process; its calls wait for the disk. Without a folder it is always empty."""

    def __init__(self, folder: Path | None, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._sizes: OrderedDict[UUID, int] = OrderedDict()
        if folder is not None:
            self._find(folder)

    def keep(self, id: UUID, content: bytes) -> None:
        """Have a copy; those that nobody has read for longest make room. A disk that does not take it costs nothing but the copy."""
        if self._folder is None or len(content) > self._most_bytes:
            return
        self.forget(self._too_many(len(content)))
        path = self._folder / str(id)
        try:
            # Whole or not at all, also where the machine loses power: what lies under a name is believed.
            with path.with_suffix(_NEW).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            path.with_suffix(_NEW).replace(path)
        except OSError as error:
            _log.warning("a copy of log lines was not kept", reason=str(error))
            path.with_suffix(_NEW).unlink(missing_ok=True)
            return
        with self._lock:
            self._sizes[id] = len(content)

    def has(self, id: UUID) -> bool:
        """Whether there is a copy, without a look at the disk."""
        return id in self._sizes

    def read(self, id: UUID, spans: Sequence[Span]) -> list[bytes] | None:
        """Return what lies there; None where there is no copy, or it cannot be read."""
        if self._folder is None or not self.has(id):
            return None
        found = _read(f"{self._folder}/{id}", spans)
        if [len(one) for one in found] != [end - begin for begin, end in spans]:
            self.forget([id])
            return None
        with self._lock:
            if id in self._sizes:
                self._sizes.move_to_end(id)
        return found

    def known(self) -> list[UUID]:
        """Return what there are copies of."""
        with self._lock:
            return list(self._sizes)

    def forget(self, ids: Iterable[UUID]) -> None:
        """Have no copy of these any more."""
        for each in ids:
            with self._lock:
                known = self._sizes.pop(each, None)
            if known is not None and self._folder is not None:
                (self._folder / str(each)).unlink(missing_ok=True)

    def _find(self, folder: Path) -> None:
        """What a process before has left, the oldest first."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime):
            try:
                self._sizes[UUID(path.name)] = path.stat().st_size
            except ValueError:
                path.unlink()
        self.forget(self._too_many(0))

    def _too_many(self, more_bytes: int) -> list[UUID]:
        with self._lock:
            over = sum(self._sizes.values()) + more_bytes - self._most_bytes
            going: list[UUID] = []
            for each, size_bytes in self._sizes.items():
                if over <= 0:
                    break
                going.append(each)
                over -= size_bytes
            return going


def _read(path: str, spans: Sequence[Span]) -> list[bytes]:
    """What is there; less than that where the file is cut short, or gone. Without a file object: a search opens a thousand, and it takes ten times as long."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        return [os.pread(file, end - begin, begin) for begin, end in spans]
    except OSError:
        return []
    finally:
        os.close(file)
