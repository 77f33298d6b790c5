"""What user code holds of its trial. Neighbour: `__init__`, which starts it."""

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
    """What user code sees of its trial.

    Attributes:
        hparams: The hyperparameters, as written in the config.
        rank: This process's number in the gang, from 0.
        size: Number of ranks of the gang.
        local_rank: This process's number on its machine: the GPU to take.
        seed: The trial's seed, equal on all ranks and for every run of the trial.
        slot_part: How much of its slot is the trial's: below 1 it shares the slot with other trials; 0: it has none.
        data: The config's `data` section.
        latest_checkpoint: A directory to resume from, or None for a fresh start.
    """

    def __init__(
        self,
        description: wire.TrialFile,
        surroundings: ProcessEnvironment,
        channel: Channel | None,
        gang: "RankGang | None",
        heart: HeartbeatWriter,
    ) -> None:
        self.hparams: Mapping[str, Json] = Hyperparameters(description.hparams)
        self.data = description.data
        self.seed = description.seed
        self.rank = gang.rank if gang else surroundings.rank
        self.local_rank = gang.local_rank if gang else surroundings.local_rank
        self.size = gang.size if gang else surroundings.stands_by or description.size
        self.slot_part = surroundings.slot_part
        latest = description.latest_checkpoint
        self.latest_checkpoint = Path(latest) if latest else None
        self._description = description
        self._surroundings = surroundings
        self._forming: GangReforming | None = None
        self._resizing: Resizing | None = None
        self._channel = channel
        self._gang = gang
        self._heart = heart
        self._losses = NanGuard(description.on_nan, description.metric)
        self._pid = os.getpid()
        self._console = standalone.Console()
        self._counts = channel or self._console
        own_channel = partial(Channel, description, surroundings.trial_path, surroundings.token)
        self._checkpoints = Checkpoints(description, gang, channel, self._console, own_channel)
        self._media = MediaSpoolWriter(description)
        self._verdicts = SearchDecisions(channel)
        self._stopping = False

    @overload  # without it a checker takes `**losses` for something that might name a group
    def report(self, step: int, **metrics: float) -> None: ...
    @overload
    def report(self, step: int, *, group: str, **metrics: float) -> None: ...
    def report(self, step: int, *, group: str | float = TRAINING, **metrics: float) -> None:
        """Record training metrics at `step`. Only rank 0's count; it costs some microseconds.

        Args:
            group: Where the metrics stand when they are no training metrics: `test`, `gradients`. What decides is for `validate`.

        Raises:
            Rejected: The step is no whole number of at least 0, a metric is not one number, or the group is no name or the
                platform's own; a loss is NaN, and the config says `on_nan: fail` or `restart`.
        """
        self._heart.beat()
        number, values = check_step(step), check_metrics(metrics)
        self._heart.on_step(number)
        named = TRAINING if group == TRAINING else check_group(group)
        if self.rank == 0:
            self._report(number, values, named)
            self._losses.check(number, values)

    def validate(self, step: int, **metrics: float) -> None:
        """Record validation metrics at `step`: what the search decides on. Only rank 0's count.

        Raises:
            Rejected: As `report`.
        """
        self._heart.beat()
        number, values = check_step(step), check_metrics(metrics)
        self._heart.on_step(number)
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
            self._verdicts.expect(validation, at)
        self._losses.check(number, values)

    def should_stop(self) -> bool:
        """Say whether the training should save and end now. True acknowledges: after it, save and return.

        With several ranks every rank must call it equally often; they get the same answer.
        After a validation on which the search decides, it waits up to two seconds for the verdict.
        """
        self._heart.beat()
        if self._forming and self._forming.is_due:
            return self._stopping  # the others wait where it joins them
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
        """Say whether a checkpoint of `step` is due, by the experiment's `checkpoint_policy` and `min_checkpoint_period`.

        After `should_stop()` has answered True it is, unless `step` is saved already: the last chance. With several ranks every rank
        must call it equally often; they get the same answer.

        Args:
            step: As given to `report`.
            validated: False, on every rank alike, where this step was not validated: ranks then ask each other only for the period's sake.
        """
        return self._checkpoints.is_due(check_step(step), is_ending=self._stopping, is_validated=validated)

    @contextmanager
    def checkpoint(self, step: int, **metadata: Json) -> Iterator[Path]:
        """Yield a directory to write a checkpoint of `step` into; at the end of the block it is announced.

        Every rank enters it, and any of them may write: ranks on one machine share the directory, and each machine uploads
        what its ranks wrote while training goes on. Of files of equal name the lowest rank's counts.
        An exception in the block discards it.

        Raises:
            Rejected: The block wrote nothing.
            OSError: A disk is full, here or where another rank wrote: nothing of the checkpoint is left. What let it
                pass is started again without charge; what catches it may train on.
        """
        number = self._checkpoints.next_number()
        with self._heart.busy(), self._checkpoints.write(number, step, metadata) as directory:
            yield directory

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Within it no step is expected: a long validation or download is not taken for a training that hangs (`hang_timeout`).

        A checkpoint is such a block by itself, and of what Python code goes on with, or a processor works on, the worker sees that it lives.
        """
        with self._heart.busy():
            yield

    def loading(self) -> AbstractContextManager[None]:
        """Within it the script waits for data, where the run is profiled. What comes from PyTorch's loaders is counted by itself."""
        return self._heart.timings.within(Activity.DATA) if self._heart.timings else nullcontext()

    def distribute(
        self, model: "torch.nn.Module", optimizer: "torch.optim.Optimizer"
    ) -> "tuple[torch.nn.Module, torch.optim.Optimizer]":
        """Return model and optimizer as they train on all ranks together, by Horovod or DDP as the config says, with its `gradient_options`.

        Every rank calls it, with the model on its device and the checkpoint loaded, before schedulers are made. Rank 0's parameters are taken.
        Train with what it returns, and save the model that was given. With `aggregation_frequency` the script goes on calling
        `step()` and `zero_grad()` after each backward pass; they act at every so-manieth.
        """
        told = read_gradient_options(self._description.optimizations)
        if self._gang:
            return self._gang.distribute(model, optimizer, told)
        gather_passes(optimizer, told, lambda is_last: None)
        return model, optimizer

    def invalid(self, reason: str) -> NoReturn:
        """Say that these hyperparameters make no sense, and end: the search tries another point instead and does not count this one.

        Any rank may say it; the others are ended with it. Say it before the first report: what was reported stays stored, and
        counts nowhere.

        Raises:
            SystemExit: Always; let it pass.
        """
        print(wire.invalid_text(reason), file=sys.__stderr__, flush=True)
        raise SystemExit(wire.EXIT_INVALID)

    def close(self) -> None:
        """Hand over everything that was reported; called by itself when the process ends."""
        self._heart.close()
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
        if answer == FORM_ANEW and self._forming:
            self._forming.is_due = True

    def _take_gang(self, gang: "RankGang") -> None:
        """This process is another rank from here on, of another gang."""
        self._gang = self._checkpoints.gang = gang
        self.rank, self.size, self.local_rank = gang.rank, gang.size, gang.local_rank

    def _answer(self) -> int:
        """Rank 0: what the worker asks for now, after the verdict that is due."""
        channel = self._channel
        if channel is None:
            return STOP if self._losses.have_ended else GO_ON
        channel.glance()
        self._verdicts.wait()
        if channel.signal != "run" or self._losses.have_ended:
            return STOP
        return FORM_ANEW if self._forming and self._forming.has_news() else GO_ON
