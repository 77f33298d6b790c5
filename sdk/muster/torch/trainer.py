"""A training loop for people who bring a model, data and two functions; everything that makes it a trial is done here.

`shares` says what each rank takes of a batch, `gradients` how ranks come to the same ones, `periods` what is due when, `course` where
the training stands, and `muster.elastic.resize` how it lives through a change of its ranks.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from muster._trial.gang.gradient_averaging import check_unwrapped
from muster.elastic.resize import Resizing
from muster.errors import Rejected
from muster.torch.batch_shards import BatchShard, BatchSharder, Loader
from muster.torch.gradients import join_gradients
from muster.torch.metric_means import RunningMeans
from muster.torch.periods import START, Period, Progress, batches, epochs
from muster.torch.training_progress import TrainingProgress

if TYPE_CHECKING:
    from muster import Trial

Metrics = Mapping[str, torch.Tensor | float]
Step = Callable[[nn.Module, Any], torch.Tensor | Metrics]
Precision = Literal["fp32", "bf16", "fp16"]

EACH_EPOCH = epochs(1)
TEN_BATCHES = batches(10)
_PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Trainer:
    """Trains a model on all slots of the trial, resumes, reports, validates, saves, and stops when the trial should.

        trainer = muster.torch.Trainer(trial, model, optimizer, train_step, validate_step)
        trainer.fit(train_loader, validation_loader, until=epochs(10))

    `train_step(model, batch)` returns the mean loss over the samples of the batch, or a dict that holds it as `loss` beside further
    metrics; `validate_step(model, batch)` returns metrics, means over its samples too. Give them as functions, or as methods of a subclass.

    A batch of the loader is what all ranks train together in one step: each takes a part of it, so that a run on twelve slots takes the
    same steps as a run on one. `accumulate` cuts that part again, where it is too large for the memory.

    On a number of slots that changes (`slots_per_trial: {min: 1, max: 12}`, by Horovod) it is resized between two steps: the ranks that stay
    keep process and state, those that join get rank 0's, and a lost one costs the steps since rank 0's last copy in memory. Its batch stays what the
    loader says (decision 0099); one that grows with the slots is `muster.elastic.Training`'s, with `max_batch_size`.

    Attributes:
        device: Where the model is and batches go: this rank's GPU, else the CPU.
        progress: How far the last `fit` is, or came.
    """

    def __init__(
        self,
        trial: "Trial",
        model: nn.Module,
        optimizer: Optimizer,
        train_step: Step | None = None,
        validate_step: Step | None = None,
        *,
        scheduler: LRScheduler | None = None,
        schedule_every: Period = EACH_EPOCH,
        precision: Precision = "fp32",
        accumulate: int = 1,
        clip_norm: float | None = None,
    ) -> None:
        """Moves the model to this rank's device.

        Args:
            scheduler: Is stepped each `schedule_every`.
            precision: Of the forward pass: `bf16` and `fp16` by autocast, `fp16` with scaled losses.
            accumulate: Forward and backward passes for one step.
            clip_norm: The largest norm of all gradients together.

        Raises:
            Rejected: An option makes no sense, or `trial.distribute` has wrapped the optimizer.
        """
        check_unwrapped(optimizer)
        if precision not in _PRECISIONS:
            known = ", ".join(_PRECISIONS)
            raise Rejected("precision_unknown", f"{precision!r} is none of {known}", place="precision")
        if accumulate < 1:
            raise Rejected(
                "accumulate_invalid", f"a step has at least one pass, not {accumulate}", place="accumulate"
            )
        self._trial, self._model, self._optimizer = trial, model, optimizer
        self._train_step, self._validate_step = train_step, validate_step
        self._scheduler, self._schedule_every = scheduler, schedule_every
        self._precision, self._accumulate, self._clip_norm = _PRECISIONS[precision], accumulate, clip_norm
        self.device = _take_device(trial)
        self._model.to(self.device)
        self._scaler = torch.amp.GradScaler(self.device.type, enabled=precision == "fp16")
        self._gradients = join_gradients(trial, model)
        self._course: TrainingProgress | None = None
        self._resizing: Resizing | None = None

    @property
    def progress(self) -> Progress:
        return self._course.progress if self._course else START

    def train_step(self, model: nn.Module, batch: Any) -> torch.Tensor | Metrics:
        """The loss of a batch; what a subclass may override."""
        if self._train_step is None:
            raise _missing("train_step")
        return self._train_step(model, batch)

    def validate_step(self, model: nn.Module, batch: Any) -> torch.Tensor | Metrics:
        """The metrics of a batch; what a subclass may override."""
        if self._validate_step is None:
            raise _missing("validate_step")
        return self._validate_step(model, batch)

    def fit(
        self,
        train: Loader,
        validation: Loader | None = None,
        *,
        until: Period,
        validate_every: Period = EACH_EPOCH,
        checkpoint_every: Period | None = None,
        report_every: Period = TEN_BATCHES,
    ) -> dict[str, float]:
        """Train from the latest checkpoint, or from the beginning, until so much is trained or the trial should stop.

        The end is validated and saved too. A further `fit`, with these data or others, goes on where the one before came to: at its
        step, its epoch, and its place in the epoch, in batches; `until` counts from the first one's beginning. A trial whose hyperparameters are not those of its checkpoint, as a copy in
        population-based training, keeps the optimizer's settings that the script gave it.

        Args:
            train: The training data; its batch is that of all ranks together.
            validation: Its metrics are means over all of it.
            checkpoint_every: As the experiment's `checkpoint_policy` and `min_checkpoint_period` say where nothing is said.

        Returns:
            The last validation's metrics; empty where there was none in this run.

        Raises:
            Rejected: A loader cannot be shared by the ranks, the checkpoint does not fit, or another Trainer trains this trial.
        """
        shares = BatchSharder(train, self._trial, self._accumulate)
        held_out = BatchSharder(validation, self._trial) if validation else None
        course, resizing = self._begin(shares)
        found: dict[str, float] = {}
        means = RunningMeans()
        for parts in self._batches(resizing, shares, until):
            with resizing.step():
                self._train(parts, means)
                course.progress = now = self.progress.after_batch(shares.epoch)
                is_over = now.has_reached(until)
                if self._scheduler and now.is_due(self._schedule_every):
                    self._scheduler.step()
                if now.is_due(report_every):
                    self._trial.report(now.step, **means.take())
                is_validated = held_out is not None and (is_over or now.is_due(validate_every))
                if held_out is not None and is_validated:
                    found = self._validate(held_out)
                if is_over or self._is_save_due(checkpoint_every, is_validated):
                    course.save()
        if not resizing.is_put_off:
            course.save()
        return found

    def _begin(self, shares: BatchSharder) -> tuple[TrainingProgress, Resizing]:
        """Where the last `fit` came to; the first one where the latest checkpoint is, or at the beginning."""
        if self._course and self._resizing:
            self._course.go_on_with(shares)
            self._resizing.begin_anew()
            return self._course, self._resizing
        parts: dict[str, Any] = {"model": self._model, "data": shares}
        if self._scheduler:
            parts["scheduler"] = self._scheduler
        if self._scaler.is_enabled():
            parts["scaler"] = self._scaler
        course = TrainingProgress(self._trial, self._optimizer, self._gradients, **parts)
        course.resume()
        self._course, self._resizing = course, Resizing(self._trial, course)
        return self._course, self._resizing

    def _is_save_due(self, every: Period | None, is_validated: bool) -> bool:
        if every:
            return self.progress.is_due(every)
        return self._trial.should_checkpoint(self.progress.step, validated=is_validated)

    def _batches(
        self, resizing: Resizing, shares: BatchSharder, until: Period
    ) -> Iterator[Iterator[BatchShard]]:
        """Yield this rank's parts of batch after batch, until so much is trained or the trial should stop."""
        coming: Iterator[Iterator[BatchShard]] = iter(())
        formed = 0
        while not self.progress.has_reached(until) and resizing.may_go_on():
            if self.progress.has_reached(until):  # it has joined ranks that are in a later `fit`
                resizing.put_off()
                return
            if resizing.formed != formed:  # what was loaded ahead is another rank's part now
                coming, formed = iter(()), resizing.formed
            parts = next(coming, None)
            if parts is None:
                coming = iter(shares)
                parts = next(coming)
            yield parts

    def _train(self, parts: Iterator[BatchShard], means: RunningMeans) -> None:
        self._model.train()
        for part in parts:
            with self._gradients.during(part.is_last):
                with self._autocast():
                    metrics = _as_metrics(self.train_step(self._gradients.model, self._moved(part.content)))
                self._scaler.scale(_loss(metrics) * part.weight).backward()  # type: ignore[no-untyped-call]
            means.add(metrics, part.samples)
        self._gradients.finish()
        if self._clip_norm is not None:
            self._scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self._model.parameters(), self._clip_norm)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._optimizer.zero_grad()

    @torch.no_grad()
    def _validate(self, shares: BatchSharder) -> dict[str, float]:
        self._model.eval()
        means = RunningMeans()
        for part in shares.once():
            with self._autocast():
                metrics = _as_metrics(self.validate_step(self._model, self._moved(part.content)))
            means.add(metrics, part.samples)
        found = means.take(self._trial._gang)
        self._trial.validate(self.progress.step, **{"epochs": float(self.progress.epoch), **found})
        return found

    def _autocast(self) -> torch.autocast:
        is_less = self._precision is not torch.float32
        return torch.autocast(self.device.type, dtype=self._precision if is_less else None, enabled=is_less)

    def _moved(self, content: Any) -> Any:
        """A collated batch on this rank's device, whatever lists and dicts its tensors stand in."""
        if isinstance(content, torch.Tensor):
            return content.to(self.device, non_blocking=True)
        if isinstance(content, Mapping):
            return {name: self._moved(one) for name, one in content.items()}
        if isinstance(content, list | tuple):
            return [self._moved(one) for one in content]
        return content


def _take_device(trial: "Trial") -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.cuda.set_device(trial.local_rank)
    return torch.device("cuda", trial.local_rank)


def _as_metrics(said: torch.Tensor | Metrics) -> Metrics:
    return said if isinstance(said, Mapping) else {"loss": said}


def _loss(metrics: Metrics) -> torch.Tensor:
    loss = metrics.get("loss")
    if not isinstance(loss, torch.Tensor):
        raise Rejected(
            "loss_missing",
            f"train_step returned {', '.join(metrics) or 'nothing'}, and no tensor named `loss`",
            hint="return the loss itself, or a dict with it: {'loss': loss, 'accuracy': …}",
        )
    return loss


def _missing(name: str) -> Rejected:
    return Rejected(
        "step_missing",
        f"there is no {name}",
        hint=f"give Trainer the function {name}(model, batch), or override it in a subclass",
        place=name,
    )
