"""What must survive a restart of the daemon: the highest epoch, and a record of every run."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import structlog
from pydantic import BaseModel, ValidationError

from shared.ids import RunId
from shared.messages.allocations import DesiredAllocation
from worker.core.run import LocalRun
from worker.places import Places

_log = structlog.get_logger()


class KeptRun(BaseModel):
    """A run as it stands on disk. `forgotten`: only its journals and uploads are still of interest."""

    run: LocalRun
    allocation: DesiredAllocation
    token: str
    forgotten: bool = False


class Store:
    """Small files, each replaced as a whole."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def load_epoch(self) -> int:
        """The highest epoch seen."""
        try:
            return int(self._places.gate.read_text())
        except (OSError, ValueError):
            return 0

    def save_epoch(self, epoch: int) -> None:
        """Keep it on the disk itself: after a power cut, too, a deposed leader is refused."""
        write_whole(self._places.gate, str(epoch), sync=True)

    def load_runs(self) -> Iterator[KeptRun]:
        """Every run that is not done with; unreadable records are named in the log and left."""
        for folder in sorted(self._places.runs.iterdir()):
            try:
                yield KeptRun.model_validate_json((folder / "run.json").read_text())
            except (OSError, ValidationError) as error:
                _log.error("a run's record could not be read", folder=str(folder), error=str(error))

    def save_run(self, kept: KeptRun) -> None:
        """Keep a run; its end is kept on the disk itself."""
        path = self._places.run(kept.run.run_id).record
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, kept.model_dump_json(), sync=kept.run.is_over)

    def drop_run(self, run_id: RunId) -> None:
        """Remove a run's directory."""
        shutil.rmtree(self._places.run(run_id).root, ignore_errors=True)


def write_whole(path: Path, text: str, sync: bool) -> None:
    """Replace a file, so that a reader finds the old or the new; for this user only: a run's token is inside."""
    temporary = path.with_name(path.name + ".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as output:
        output.write(text)
        if sync:
            output.flush()
            os.fdatasync(output.fileno())
    temporary.replace(path)
