"""How a trial writes a checkpoint: a folder for each, whole on every rank or not there, announced by rank 0."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muster import wire
from muster._trial.alone import Console
from muster._trial.channel import Channel
from muster._trial.values import check_step, directory_size, is_for_lack_of_room
from muster.errors import Rejected
from muster.wire import Json

if TYPE_CHECKING:
    from muster._trial.gang import Gang


class Checkpoints:
    """The checkpoints that this process takes part in."""

    def __init__(
        self, description: wire.TrialFile, gang: "Gang | None", channel: Channel | None, console: Console
    ) -> None:
        self._description = description
        self._gang = gang
        self._channel = channel
        self._console = console
        self._counts = channel or console

    @contextmanager
    def write(self, step: int, metadata: Mapping[str, Json]) -> Iterator[Path]:
        """Yield the folder to write into and announce what stands there after the block; `Trial.checkpoint` says the rest."""
        number = self._counts.checkpoints + 1
        if self._gang:
            number = self._gang.number("checkpoint", number)
        directory = Path(self._description.checkpoints, f"{number:06d}-step-{check_step(step)}")
        failure = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            yield directory
        except BaseException as error:
            if not is_for_lack_of_room(error, directory):
                self._discard(directory)
                raise
            failure = error
        self._complete(directory, failure)
        if self._gang is None or self._gang.rank == 0:
            self._announce(number, int(step), directory, metadata)
        self._counts.checkpoints = number

    def _discard(self, directory: Path) -> None:
        """Remove what a failed block wrote; in a gang, others may still be writing beside it."""
        if self._gang is None:
            shutil.rmtree(directory, ignore_errors=True)

    def _complete(self, directory: Path, failure: BaseException | None) -> None:
        """Let a gang bring its files together; a lack of room on one rank is an error on all, so that they stay in step."""
        is_whole = failure is None
        if self._gang:
            is_whole = self._gang.gather_files(directory, is_whole)
        if not is_whole:
            shutil.rmtree(directory, ignore_errors=True)
            disk = self._description.disk or directory.parent
            raise wire.disk_full(self._description.worker, disk) from failure

    def _announce(self, number: int, step: int, directory: Path, metadata: Mapping[str, Json]) -> None:
        if not directory_size(str(directory)):
            raise Rejected("checkpoint_empty", f"nothing was written into the checkpoint of step {step}")
        if self._channel is None:
            self._console.print_checkpoint(step, str(directory))
            return
        announced = wire.Checkpoint(number, step, str(directory), self._channel.reports, dict(metadata))
        self._channel.announce(announced)
