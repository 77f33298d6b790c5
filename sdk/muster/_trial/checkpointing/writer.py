"""Writing of checkpoints: one folder per checkpoint, complete on every rank or removed, announced by rank 0."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muster import wire
from muster._trial.checkpointing.schedule import CheckpointSchedule
from muster._trial.standalone import Console
from muster._trial.validation import check_step, count_files, is_disk_full_error
from muster._trial.worker_link.report_channel import Channel
from muster.errors import Rejected
from muster.wire import Json

if TYPE_CHECKING:
    from muster._trial.gang.gang import RankGang


class Checkpoints:
    """The checkpoints of this process and its `gang`."""

    def __init__(
        self,
        description: wire.TrialFile,
        gang: "RankGang | None",
        channel: Channel | None,
        console: Console,
        reach_worker: Callable[[], Channel],
    ) -> None:
        """`reach_worker` connects this process to its worker, for the first rank on machines other than rank 0's."""
        self._description = description
        self.gang = gang
        self._channel = channel
        self._reach_worker = reach_worker
        self._console = console
        self._counts = channel or console
        self._began_at = 0.0
        self._due = CheckpointSchedule(
            description.checkpoint_policy,
            description.checkpoint_period,
            description.metric,
            smaller_is_better=description.smaller_is_better,
            best=description.best,
        )
        self._unit = description.checkpoint_period_unit
        self._reported: float | None = None if description.latest_checkpoint else 0.0
        if not description.latest_checkpoint:
            self._due.begin(self._far(0))

    def on_report(self, values: Mapping[str, float]) -> None:
        """Record the training progress from a report of rank 0."""
        self._reported = values.get(self._unit, self._reported)

    def on_validation(self, values: Mapping[str, float]) -> None:
        """Record a validation of rank 0."""
        self._due.on_validation(values)

    def is_due(self, step: int, *, is_ending: bool, is_validated: bool) -> bool:
        """As `Trial.should_checkpoint`; `is_ending`: the trial is asked to stop."""
        far = self._far(step)
        self._due.begin(far)
        if not is_ending and not self._due.may_be_due(is_validated=is_validated):
            return False
        if self._channel:
            self._channel.glance()
            self._due.on_settled(*self._channel.settled, far, time.monotonic())
        is_due = self._due.is_due(step, far, is_ending=is_ending)
        return bool(self.gang.number("should_checkpoint", int(is_due))) if self.gang else is_due

    def next_number(self) -> int:
        """Return the run's next checkpoint number, from 1. Collective. Ranks are not marked busy here, so that waiting for a hanging rank counts as hanging."""
        number = self._counts.checkpoints + 1
        return self.gang.number("checkpoint", number) if self.gang else number

    @contextmanager
    def write(self, number: int, step: int, metadata: Mapping[str, Json]) -> Iterator[Path]:
        """Yield the folder to write into, and announce its content after the block; see `Trial.checkpoint`."""
        directory = Path(self._description.checkpoints, f"{number:06d}-step-{check_step(step)}")
        failure = None
        self._began_at = time.monotonic()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            yield directory
        except BaseException as error:
            if not is_disk_full_error(error, directory):
                self._discard(directory)
                raise
            failure = error
        parts = self._complete(directory, failure)
        if self.gang is None or self.gang.rank == 0:
            self._announce(number, int(step), directory, metadata, parts)
        elif self.gang.local_rank == 0:
            self._announce_part(number, int(step), directory, parts)
        self._counts.checkpoints = number
        self._due.on_written(number, int(step), self._far(int(step)), time.monotonic())

    def close(self) -> None:
        """Send everything that was announced."""
        if self._channel and not self._channel.closed:
            self._channel.close()

    def _far(self, step: int) -> float | None:
        """Training progress in the unit of the period; None if it was not reported yet."""
        if self._unit == "batches":
            return step
        return time.monotonic() / 60 if self._unit == "minutes" else self._reported

    def _discard(self, directory: Path) -> None:
        """Remove the files of a failed block; in a gang, other ranks may still be writing."""
        if self.gang is None:
            shutil.rmtree(directory, ignore_errors=True)

    def _complete(self, directory: Path, failure: BaseException | None) -> tuple[str, ...]:
        """Return the workers that hold files. A full disk on one rank is an error on all ranks, so that they stay in step."""
        worker = self._description.worker
        parts: tuple[str, ...] | None = (worker,) if failure is None else None
        if self.gang:
            parts = self.gang.share_out_files(directory, failure is None, worker)
        if parts is None:
            shutil.rmtree(directory, ignore_errors=True)
            raise wire.disk_full(worker, self._description.disk or directory.parent) from failure
        return parts

    def _announce(
        self, number: int, step: int, directory: Path, metadata: Mapping[str, Json], parts: tuple[str, ...]
    ) -> None:
        if not parts or (len(parts) == 1 and not count_files(str(directory))):
            raise Rejected(
                "checkpoint_empty",
                f"the checkpoint of step {step} contains no files",
                hint="write at least one file into the folder of the `with trial.checkpoint(step)` block",
            )
        if self._channel is None:
            self._console.print_checkpoint(step, str(directory))
            return
        self._channel.announce(
            wire.CheckpointFrame(
                number,
                step,
                str(directory),
                self._channel.reports,
                dict(metadata),
                _if_several(parts),
                time.monotonic() - self._began_at,
            )
        )

    def _announce_part(self, number: int, step: int, directory: Path, parts: tuple[str, ...]) -> None:
        """Announce the files on this machine; reports are sent by rank 0 only."""
        if not self._description.socket:
            return
        if self._description.worker not in parts:
            shutil.rmtree(directory, ignore_errors=True)
            return
        if self._channel is None:
            self._channel = self._reach_worker()
        self._channel.poll()
        written_s = time.monotonic() - self._began_at
        self._channel.announce(
            wire.CheckpointFrame(number, step, str(directory), 0, {}, _if_several(parts), written_s)
        )


def _if_several(parts: tuple[str, ...]) -> list[str]:
    return list(parts) if len(parts) > 1 else []
