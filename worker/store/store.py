"""State that survives a restart of the daemon: the sender of the last desired set, and a record of every run.

Writes that a full disk rejects are kept in memory and retried. An outdated record does no harm: the warm parent
ignores orders that it has already executed.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from muster import wire
from shared.ids import RunId
from shared.runtime.outages import Outages
from worker.core.desired_set import Gate
from worker.paths import WorkerPaths
from worker.sandbox.trial_files import remove_tree
from worker.store.records import StoredRun, read_record, write_record

MAX_NUMBERINGS = 1000
"""Maximum number of runs that may return with continued numbering; older ones would lose their first lines."""
_GATE = TypeAdapter(Gate)
_KEEPING = "writing records; they wait in memory"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _PendingWrite:
    text: str
    sync: bool


class Store:
    """Small files, each replaced atomically."""

    def __init__(self, paths: WorkerPaths) -> None:
        self._paths = paths
        self._pending: dict[Path, _PendingWrite] = {}
        self._outages = Outages()

    def load_gate(self) -> Gate:
        """Return the sender of the last accepted desired set; of a worker of 0.2.0, only its epoch."""
        with suppress(OSError, ValidationError):
            return _GATE.validate_json(self._paths.last_set.read_text())
        with suppress(OSError, ValueError):
            return Gate(int(self._paths.gate.read_text()))
        return Gate()

    def save_gate(self, gate: Gate, *, is_new_epoch: bool) -> None:
        """Store the sender; a new epoch durably, to refuse a deposed leader even after a power failure."""
        if is_new_epoch:
            self._write(self._paths.gate, _PendingWrite(str(gate.epoch), sync=True))
        self._write(self._paths.last_set, _PendingWrite(_GATE.dump_json(gate).decode(), is_new_epoch))

    def load_runs(self) -> Iterator[StoredRun]:
        """Yield every stored run; log and skip unreadable records."""
        for folder in sorted(self._paths.runs.iterdir()):
            try:
                yield read_record((folder / "run.json").read_text())
            except (OSError, ValidationError) as error:
                _log.error("a run's record could not be read", folder=str(folder), error=str(error))

    def begin_run(self, stored: StoredRun) -> None:
        """Store a new run.

        Raises:
            OSError: The disk is full or broken; the run is not stored.
        """
        try:
            paths, left = self._paths.run(stored.run.run_id), self._paths.numbering / str(stored.run.run_id)
            paths.make()
            if left.is_dir():
                shutil.copytree(left, paths.journals, dirs_exist_ok=True)
            write_whole(paths.record, write_record(stored), sync=False)
        except OSError:
            self.drop_run(stored.run.run_id)
            raise

    def save_run(self, stored: StoredRun) -> None:
        """Store a run's current state; durably if it has ended."""
        self._write(
            self._paths.run(stored.run.run_id).record, _PendingWrite(write_record(stored), stored.run.is_over)
        )

    def drop_run(self, run_id: RunId) -> None:
        """Remove a run's directory."""
        self._pending.pop(self._paths.run(run_id).record, None)
        remove_tree(self._paths.run(run_id).root)

    def leave_run(self, run_id: RunId) -> None:
        """Remove the directory of a run that may return to this worker, except its journal positions: the registry continues its numbering."""
        left = self._paths.numbering / str(run_id)
        with suppress(OSError):
            for mark in self._paths.run(run_id).journals.glob("*/mark"):
                target = left / mark.parent.name
                target.mkdir(parents=True, exist_ok=True)
                mark.replace(target / mark.name)
        for oldest in sorted(self._paths.numbering.iterdir(), key=_changed_at)[:-MAX_NUMBERINGS]:
            remove_tree(oldest)
        self.drop_run(run_id)

    def settle(self) -> None:
        """Retry pending writes."""
        for path, pending in list(self._pending.items()):
            with suppress(OSError):
                self._write(path, pending)

    def _write(self, path: Path, pending: _PendingWrite) -> None:
        """Write now, or keep the write pending on a full disk. Raises OSError for a broken disk."""
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
    """Replace a file atomically, readable by this user only: it contains a run's token."""
    temporary = path.with_name(path.name + ".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as output:
        output.write(text)
        if sync:
            output.flush()
            os.fdatasync(output.fileno())
    temporary.replace(path)
