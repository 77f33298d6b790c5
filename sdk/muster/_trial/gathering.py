"""How a gang's files come together on rank 0's machine. Imported only when there is more than one rank."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path

import torch

from muster._trial.exchange import Exchange
from muster.wire import is_disk_full

CHUNK_BYTES = 16 * 1024 * 1024

_Listed = list[tuple[str, int]]
"""Path below the folder, and size in bytes."""


def gather_files(exchange: Exchange, folder: Path, is_written: bool) -> bool:
    """Return when every rank has written; rank 0's folder then holds what ranks on other machines wrote into theirs.

    Collective. Files of equal name are taken from the lowest rank. They go through memory in pieces of 16 MiB.

    Args:
        exchange: The gang's.
        folder: This machine's.
        is_written: False where this rank's disk had no room.

    Returns:
        On every rank the same: whether all had room, rank 0's disk for the others' files too.
    """
    unwritten = torch.tensor([0.0 if is_written else 1.0])
    if float(exchange.total(unwritten, "muster.checkpoint.written")) > 0:
        return False
    if exchange.size == exchange.local_size:
        return True
    mine = _list_files(folder) if exchange.local_rank == 0 else []
    taken: set[str] = set()
    has_room = True
    for owner, files in enumerate(exchange.gather(mine, "muster.checkpoint.files")):
        for name, size in files:  # type: ignore[attr-defined]
            if owner != 0 and name not in taken:
                has_room = _send_file(exchange, folder / name, size, owner) and has_room
            taken.add(name)
    answer = torch.tensor([int(has_room)])
    return exchange.broadcast(answer, 0, "muster.checkpoint.gathered").tolist() == [1]


def _send_file(exchange: Exchange, path: Path, size: int, owner: int) -> bool:
    """Whether rank 0 has room for it; without it takes part to the end, as the others do."""
    content = path.open("rb") if exchange.rank == owner else None
    copy = _Copy(path) if exchange.rank == 0 else None
    try:
        for start in range(0, size, CHUNK_BYTES):
            length = min(CHUNK_BYTES, size - start)
            raw = bytearray(content.read(length) if content else length)
            piece = torch.frombuffer(raw, dtype=torch.uint8)
            received = exchange.broadcast(piece, owner, "muster.checkpoint.piece")
            if copy:
                copy.write(received.numpy().tobytes())
    finally:
        if content:
            content.close()
    return copy.close() if copy else True


def _list_files(folder: Path) -> _Listed:
    return [
        (path.relative_to(folder).as_posix(), path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


class _Copy:
    """A file as it comes in pieces; a full disk is remembered and not raised."""

    def __init__(self, path: Path) -> None:
        self._has_room = True
        self._file: BufferedWriter | None = None
        with self._noticed():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb")

    def write(self, piece: bytes) -> None:
        with self._noticed():
            if self._file and self._has_room:
                self._file.write(piece)

    def close(self) -> bool:
        """Whether the whole file is there."""
        with self._noticed():
            if self._file:
                self._file.close()
        return self._has_room

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not is_disk_full(error):
                raise
            self._has_room = False
