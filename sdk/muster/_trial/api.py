"""`Trial`: the API of a training script. `__init__` creates it."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, overload

from muster import _clock, wire
from muster._trial import standalone
from muster._trial.checkpointing.writer import Checkpoints
from muster._trial.gang.stop_cadence import FORM_ANEW, GO_ON, STOP
from muster._trial.gradient_options import gather_passes, read_gradient_options
from muster._trial.media import MediaMethods, MediaSpoolWriter
from muster._trial.nan_guard import NanGuard
from muster._trial.process_environment import ProcessEnvironment
from muster._trial.profiling.step_timings import Activity
from muster._trial.validation import (
    TRAINING,
    VALIDATION,
    Hyperparameters,
    check_group,
    check_metrics,
    check_step,
)
from muster._trial.worker_link.decisions import SearchDecisions
from muster._trial.worker_link.heartbeat import HeartbeatWriter
from muster._trial.worker_link.report_channel import Channel
from muster.wire import Json

if TYPE_CHECKING:
    import torch

    from muster._trial.gang.gang import RankGang
    from muster._trial.gang.reforming import GangReforming
    from muster.elastic.resize import Resizing


class Trial(MediaMethods):
    """A trial, as its training script sees it.

    Attributes:
        hparams: Hyperparameters of the trial, by the names in the config.
        rank: Index of this process in the trial, from 0.
        size: Number of ranks.
        local_rank: Index of this process on its machine: the GPU to use.
        seed: Seed of the trial, equal on all ranks and in all runs.
        slot_fraction: Share of a slot: 1 for whole slots, below 1 if the slot is shared, 0 without a slot.
        data: The `data` section of the config.
        latest_checkpoint: Directory of the checkpoint to resume from, or None to start from scratch.
    """

    def __init__(
        self,
        description: wire.TrialFile,
        environment: ProcessEnvironment,
        channel: Channel | None,
        gang: "RankGang | None",
        heartbeat: HeartbeatWriter,
    ) -> None:
        self.hparams: Mapping[str, Json] = Hyperparameters(description.hparams)
        self.data = description.data
        self.seed = description.seed
        self.rank = gang.rank if gang else environment.rank
        self.local_rank = gang.local_rank if gang else environment.local_rank
        self.size = gang.size if gang else environment.size_to_join or description.size
        self.slot_fraction = environment.slot_fraction
        latest = description.latest_checkpoint
        self.latest_checkpoint = Path(latest) if latest else None
        self._description = description
        self._environment = environment
        self._reforming: GangReforming | None = None
        self._resizing: Resizing | None = None
        self._channel = channel
        self._gang = gang
        self._heartbeat = heartbeat
        self._nan_guard = NanGuard(description.on_nan, description.metric)
        self._pid = os.getpid()
        self._console = standalone.Console()
        self._counts = channel or self._console
        own_channel = partial(Channel, description, environment.trial_path, environment.token)
        self._checkpoints = Checkpoints(description, gang, channel, self._console, own_channel)
        self._media = MediaSpoolWriter(description)
        self._decisions = SearchDecisions(channel)
        self._stopping = False

    @overload  # without overloads, type checkers pass `**losses` as `group`
    def report(self, step: int, **metrics: float) -> None: ...
    @overload
    def report(self, step: int, *, group: str, **metrics: float) -> None: ...
    def report(self, step: int, *, group: str | float = TRAINING, **metrics: float) -> None:
        """Record training metrics at `step`. Only metrics of rank 0 are recorded. A call takes some microseconds.

        Args:
            step: Training step, a whole number of at least 0.
            group: Group of the metrics if they are not training metrics, such as `test` or `gradients`. Use `validate` for
                metrics that the search decides on.
            metrics: Metrics by name, one number each.

        Raises:
            Rejected: The step is not a whole number of at least 0, a metric is not a single number, the group name is invalid or
                reserved, or a loss is NaN and the config sets `on_nan` to `fail` or `restart`.
        """
        self._heartbeat.beat()
        number, values = check_step(step), check_metrics(metrics)
        self._heartbeat.on_step(number)
        named = TRAINING if group == TRAINING else check_group(group)
        if self.rank == 0:
            self._report(number, values, named)
            self._nan_guard.check(number, values)

    def validate(self, step: int, **metrics: float) -> None:
        """Record validation metrics at `step`, on which the search decides. Only metrics of rank 0 are recorded.

        Args:
            step: Training step, a whole number of at least 0.
            metrics: Metrics by name, one number each.

        Raises:
            Rejected: As for `report`.
        """
        self._heartbeat.beat()
        number, values = check_step(step), check_metrics(metrics)
        self._heartbeat.on_step(number)
        if self.rank != 0:
            return
        validation = self._counts.validations + 1
        at = values.get(self._description.time_metric or "", float(number))
        decide_at = self._channel.decide_at if self._channel else None
        decision = decide_at is not None and at >= decide_at
        self._report(number, values, VALIDATION, validation, decision)
        self._checkpoints.on_validation(values)
        if self._gang:
            self._gang.on_validation(at)
        if decision:
            self._decisions.expect(validation, at)
        self._nan_guard.check(number, values)

    def should_stop(self) -> bool:
        """Return whether to save a checkpoint and stop training now. True acknowledges the stop: save, then return.

        With several ranks, every rank must call it equally often; all ranks get the same answer. After a validation on which the
        search decides, the call waits up to two seconds for the decision.
        """
        self._heartbeat.beat()
        if self._reforming and self._reforming.is_due:
            return self._stopping  # the other ranks wait in the collective where this rank joins them
        if self._gang is None:
            self._on_agreed(GO_ON if self._stopping else self._answer())
        elif not self._stopping and self._gang.asks_now():
            answer = self._answer() if self.rank == 0 else GO_ON
            self._on_agreed(self._gang.agree(answer, self._channel.decide_at if self._channel else None))
        if self._stopping and self._channel:
            asked = self._channel.signal
            self._channel.acknowledge(asked if asked != "run" else "stop")
        return self._stopping

    def should_checkpoint(self, step: int, *, validated: bool = True) -> bool:
        """Return whether a checkpoint of `step` is due, by `checkpoint_policy` and `min_checkpoint_period` of the config.

        After `should_stop()` has returned True, a checkpoint is due unless `step` is already saved. With several ranks, every
        rank must call it equally often; all ranks get the same answer.

        Args:
            step: Training step, as passed to `report`.
            validated: False, on every rank, if this step was not validated: the ranks then synchronize only for the period.
        """
        return self._checkpoints.is_due(check_step(step), is_ending=self._stopping, is_validated=validated)

    @contextmanager
    def checkpoint(self, step: int, **metadata: Json) -> Iterator[Path]:
        """Yield a directory for a checkpoint of `step`; the checkpoint is published at the end of the block.

        Every rank enters the block and may write files. Ranks on one machine share the directory, and each machine uploads its
        files while training continues. If several ranks write the same file, the lowest rank's file is used. An exception in the
        block discards the checkpoint.

        Args:
            step: Training step of the checkpoint.
            metadata: JSON values to store with the checkpoint.

        Raises:
            Rejected: The block wrote no files.
            OSError: A disk is full, on this rank or another; the checkpoint is discarded. If the script does not catch the error,
                the run is restarted without counting as a failure; if it does, training may continue.
        """
        number = self._checkpoints.next_number()
        with self._heartbeat.busy(), self._checkpoints.write(number, step, metadata) as directory:
            yield directory

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Suspend hang detection (`hang_timeout`) for a long validation or download.

        `checkpoint` blocks include it. It is not needed while Python code makes progress or a processor is busy: the worker sees
        that the rank is alive.
        """
        with self._heartbeat.busy():
            yield

    def loading(self) -> AbstractContextManager[None]:
        """Measure the block as waiting for data, if the run is profiled. PyTorch loaders are measured automatically."""
        return self._heartbeat.timings.within(Activity.DATA) if self._heartbeat.timings else nullcontext()

    def distribute(
        self, model: "torch.nn.Module", optimizer: "torch.optim.Optimizer"
    ) -> "tuple[torch.nn.Module, torch.optim.Optimizer]":
        """Return model and optimizer for training on all ranks, by Horovod or DDP with the `gradient_options` of the config.

        Every rank calls it after it has moved the model to its device and loaded the checkpoint, and before it creates
        schedulers. Parameters are broadcast from rank 0. Train with the returned objects, and save the original model. With
        `aggregation_frequency`, call `step()` and `zero_grad()` after each backward pass as usual; they act after every
        `aggregation_frequency` passes.
        """
        options = read_gradient_options(self._description.optimizations)
        if self._gang:
            return self._gang.distribute(model, optimizer, options)
        gather_passes(optimizer, options, lambda is_last: None)
        return model, optimizer

    def invalid(self, reason: str) -> NoReturn:
        """Reject the trial's hyperparameters as invalid and exit; the search tries another point, and the trial does not count.

        Any rank may call it; the other ranks are stopped. Call it before the first report: metrics reported earlier stay stored,
        but are ignored.

        Args:
            reason: Why the hyperparameters are invalid; shown with the trial.

        Raises:
            SystemExit: Always; do not catch it.
        """
        print(wire.invalid_text(reason), file=sys.__stderr__, flush=True)
        raise SystemExit(wire.EXIT_INVALID)

    def close(self) -> None:
        """Send all pending reports; called automatically at exit."""
        self._heartbeat.close()
        self._checkpoints.close()
        if self._channel and not self._channel.closed:
            self._channel.close()

    def _report(
        self, step: int, values: dict[str, float], group: str, validation: int = 0, decision: bool = False
    ) -> None:
        number = self._counts.reports + 1
        point = wire.ReportFrame(number, step, _clock.now_ms(), values, group, validation, decision)
        self._counts.report(point, urgent=decision)
        self._checkpoints.on_report(values)

    def _on_agreed(self, answer: int) -> None:
        self._stopping = self._stopping or answer == STOP
        if answer == FORM_ANEW and self._reforming:
            self._reforming.is_due = True

    def _take_gang(self, gang: "RankGang") -> None:
        """Make this process a rank of another gang."""
        self._gang = self._checkpoints.gang = gang
        self.rank, self.size, self.local_rank = gang.rank, gang.size, gang.local_rank

    def _answer(self) -> int:
        """Rank 0: return the worker's current request, after a pending decision of the search."""
        channel = self._channel
        if channel is None:
            return STOP if self._nan_guard.have_ended else GO_ON
        channel.glance()
        self._decisions.wait()
        if channel.signal != "run" or self._nan_guard.have_ended:
            return STOP
        return FORM_ANEW if self._reforming and self._reforming.has_new_generation() else GO_ON
