"""What the ranks of a gang do together, by Horovod. Imported only when there is more than one rank."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path

from muster._trial.agreement import Cadence
from muster.errors import Rejected
from muster.wire import is_disk_full

CHUNK_BYTES = 16 * 1024 * 1024


class Gang:
    """Horovod, initialised once. Every method is collective unless it says otherwise: all ranks call it, in the same order."""

    def __init__(self) -> None:
        try:
            import horovod.torch as hvd
            import torch
        except ImportError as error:
            raise Rejected(
                "horovod_missing",
                f"several ranks need Horovod, which cannot be imported: {error}",
                hint="install horovod, or ask for one slot per trial",
            ) from error
        if not hvd.is_initialized():
            hvd.init()
        self._hvd, self._torch = hvd, torch
        self.rank, self.size, self.local_rank = int(hvd.rank()), int(hvd.size()), int(hvd.local_rank())
        self._is_spread = self.size > int(hvd.local_size())
        self._cadence = Cadence()
        self._calls_left = 0

    def asks_now(self) -> bool:
        """Count a call of `should_stop`; True when this one is the collective one. No communication."""
        self._cadence.on_call()
        self._calls_left -= 1
        return self._calls_left <= 0

    def agree(self, stop: bool, decide_at: float | None) -> bool:
        """Rank 0's answer, on every rank; also fixes when all ask again."""
        calls = self._cadence.plan_calls(time.monotonic(), decide_at) if self.rank == 0 else 0
        answer = self._broadcast("muster.should_stop", int(stop), calls)
        self._calls_left = answer[1]
        return bool(answer[0])

    def on_validation(self, at: float) -> None:
        """Rank 0 reported a validation. No communication."""
        self._cadence.on_validation(at)

    def number(self, name: str, value: int) -> int:
        """Rank 0's number, on every rank."""
        return self._broadcast(f"muster.{name}", value, 0)[0]

    def mean(self, name: str, value: float) -> float:
        """The ranks' mean of a number."""
        mine = self._torch.tensor([value], dtype=self._torch.float64)
        return float(self._hvd.allreduce(mine, name=f"muster.{name}").item())

    def gather_files(self, folder: Path, is_written: bool) -> bool:
        """Return when every rank has written; rank 0's folder then holds what ranks on other machines wrote into theirs.

        Files of equal name are taken from the lowest rank. They go through memory in pieces of 16 MiB.

        Args:
            folder: This machine's.
            is_written: False where this rank's disk had no room.

        Returns:
            On every rank the same: whether all had room, rank 0's disk for the others' files too.
        """
        unwritten = self._torch.tensor([0.0 if is_written else 1.0])
        if float(self._hvd.allreduce(unwritten, name="muster.checkpoint.written")) > 0:
            return False
        if not self._is_spread:
            return True
        mine = _list_files(folder) if self.local_rank == 0 else []
        taken: set[str] = set()
        has_room = True
        for owner, files in enumerate(self._hvd.allgather_object(mine, name="muster.checkpoint.files")):
            for name, size in files:
                if owner != 0 and name not in taken:
                    has_room = self._send_file(folder / name, size, owner) and has_room
                taken.add(name)
        return self._broadcast("muster.checkpoint.gathered", int(has_room), 0)[0] == 1

    def _send_file(self, path: Path, size: int, owner: int) -> bool:
        """Whether rank 0 has room for it; without it takes part to the end, as the others do."""
        content = path.open("rb") if self.rank == owner else None
        copy = _Copy(path) if self.rank == 0 else None
        try:
            for start in range(0, size, CHUNK_BYTES):
                length = min(CHUNK_BYTES, size - start)
                raw = bytearray(content.read(length) if content else length)
                piece = self._torch.frombuffer(raw, dtype=self._torch.uint8)
                received = self._hvd.broadcast(piece, root_rank=owner, name="muster.checkpoint.piece")
                if copy:
                    copy.write(received.numpy().tobytes())
        finally:
            if content:
                content.close()
        return copy.close() if copy else True

    def _broadcast(self, name: str, first: int, second: int) -> tuple[int, int]:
        # The values in the clear, in one tensor of a fixed name: Horovod's response cache makes it one round.
        tensor = self._torch.tensor([first, second], dtype=self._torch.int64)
        result = self._hvd.broadcast(tensor, root_rank=0, name=name).tolist()
        return int(result[0]), int(result[1])


def _list_files(folder: Path) -> list[tuple[str, int]]:
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
