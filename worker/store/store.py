"""What must survive a restart of the daemon: the highest epoch, and a record of every run.

What a full disk has no room for is owed: it holds in memory, and is written when there is room. An old record does no harm
to a daemon that finds it: what it would do again, the warm parent has done already and says so.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import ValidationError

from muster import wire
from shared.ids import RunId
from shared.runtime.outages import Outages
from worker.paths import WorkerPaths
from worker.store.records import KeptRun, read_record, write_record

MAX_NUMBERINGS = 1000
"""Of runs that may come back; of older ones that do, the first lines would be lost."""
_KEEPING = "keeping records; they wait in memory"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _PendingWrite:
    text: str
    sync: bool


class Store:
    """Small files, each replaced as a whole."""

    def __init__(self, paths: WorkerPaths) -> None:
        self._places = paths
        self._pending: dict[Path, _PendingWrite] = {}
        self._outages = Outages()

    def load_epoch(self) -> int:
        """The highest epoch seen."""
        try:
            return int(self._places.gate.read_text())
        except (OSError, ValueError):
            return 0

    def save_epoch(self, epoch: int) -> None:
        """Keep it on the disk itself: after a power cut, too, a deposed leader is refused."""
        self._write(self._places.gate, _PendingWrite(str(epoch), sync=True))

    def load_runs(self) -> Iterator[KeptRun]:
        """Every run that is not done with; unreadable records are named in the log and left."""
        for folder in sorted(self._places.runs.iterdir()):
            try:
                yield read_record((folder / "run.json").read_text())
            except (OSError, ValidationError) as error:
                _log.error("a run's record could not be read", folder=str(folder), error=str(error))

    def begin_run(self, kept: KeptRun) -> None:
        """Keep a run that is new here.

        Raises:
            OSError: The disk is full or broken; nothing of the run is here then.
        """
        try:
            paths, left = self._places.run(kept.run.run_id), self._places.numbering / str(kept.run.run_id)
            paths.make()
            if left.is_dir():
                shutil.copytree(left, paths.journals, dirs_exist_ok=True)
            write_whole(paths.record, write_record(kept), sync=False)
        except OSError:
            self.drop_run(kept.run.run_id)
            raise

    def save_run(self, kept: KeptRun) -> None:
        """Keep a run as it now is; its end is kept on the disk itself."""
        self._write(
            self._places.run(kept.run.run_id).record, _PendingWrite(write_record(kept), kept.run.is_over)
        )

    def drop_run(self, run_id: RunId) -> None:
        """Remove a run's directory."""
        self._pending.pop(self._places.run(run_id).record, None)
        shutil.rmtree(self._places.run(run_id).root, ignore_errors=True)

    def leave_run(self, run_id: RunId) -> None:
        """Remove the directory of a run that may come back to this worker: the registry goes on counting what it sends, so its journals must."""
        left = self._places.numbering / str(run_id)
        with suppress(OSError):
            for mark in self._places.run(run_id).journals.glob("*/mark"):
                target = left / mark.parent.name
                target.mkdir(parents=True, exist_ok=True)
                mark.replace(target / mark.name)
        for oldest in sorted(self._places.numbering.iterdir(), key=_changed_at)[:-MAX_NUMBERINGS]:
            shutil.rmtree(oldest, ignore_errors=True)
        self.drop_run(run_id)

    def settle(self) -> None:
        """Write what is owed, as far as there is room."""
        for path, pending in list(self._pending.items()):
            with suppress(OSError):
                self._write(path, pending)

    def _write(self, path: Path, pending: _PendingWrite) -> None:
        """Write now or owe it. Raises OSError for a disk that is broken and not full."""
        self._pending[path] = pending
        try:
            write_whole(path, pending.text, pending.sync)
        except OSError as error:
            if not wire.is_disk_full(error):
                raise
            self._outages.failed(_KEEPING, error)
            return
        del self._pending[path]
        if not self._pending:
            self._outages.worked(_KEEPING)


def _changed_at(path: Path) -> float:
    return path.stat().st_mtime


def write_whole(path: Path, text: str, sync: bool) -> None:
    """Replace a file, so that a reader finds the old or the new; for this user only: a run's token is inside."""
    temporary = path.with_name(path.name + ".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as output:
        output.write(text)
        if sync:
            output.flush()
            os.fdatasync(output.fileno())
    temporary.replace(path)
