"""A training loop for a model, data and two functions; it handles everything that makes a script a trial.

`batch_shards` shards batches, `gradients` exchanges gradients, `training_units` schedules, `training_progress` holds the progress, and
`muster.elastic.resize` handles changes of the number of ranks.
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
from muster.torch.training_progress import TrainingProgress
from muster.torch.training_units import START, Period, Progress, batches, epochs

if TYPE_CHECKING:
    from muster import Trial

Metrics = Mapping[str, torch.Tensor | float]
StepFunction = Callable[[nn.Module, Any], torch.Tensor | Metrics]
Precision = Literal["fp32", "bf16", "fp16"]

EACH_EPOCH = epochs(1)
TEN_BATCHES = batches(10)
_PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Trainer:
    """Train a model on all slots of the trial: resume, report, validate, save, and stop when asked.

        trainer = muster.torch.Trainer(trial, model, optimizer, train_step, validate_step)
        trainer.fit(train_loader, validation_loader, until=epochs(10))

    `train_step(model, batch)` returns the mean loss over the samples of the batch, or a dict with the loss as `loss` and other
    metrics. `validate_step(model, batch)` returns metrics, also means over its samples. Pass both as functions, or override
    them in a subclass.

    A batch of the loader is what all ranks train in one step: it is split over the ranks, so that a run on twelve slots takes
    the same steps as a run on one. `accumulate` splits a rank's share again if it does not fit into memory.

    An elastic trial (`slots_per_trial: {min: 1, max: 12}`, with Horovod) is resized between steps: remaining ranks keep
    process and state, new ranks get rank 0's state, and after the loss of a rank training resumes from rank 0's last copy in
    memory. The batch size stays as the loader defines it (decision 0099); for a batch that grows with the slots, use
    `muster.elastic.Training` with `max_batch_size`.

    Attributes:
        device: Device of the model and the batches: this rank's GPU, else the CPU.
        progress: Progress of the current or last `fit`.
    """

    def __init__(
        self,
        trial: "Trial",
        model: nn.Module,
        optimizer: Optimizer,
        train_step: StepFunction | None = None,
        validate_step: StepFunction | None = None,
        *,
        scheduler: LRScheduler | None = None,
        schedule_every: Period = EACH_EPOCH,
        precision: Precision = "fp32",
        accumulate: int = 1,
        clip_norm: float | None = None,
    ) -> None:
        """Move the model to this rank's device.

        Args:
            trial: The trial.
            model: The model to train.
            optimizer: Its optimizer, not wrapped by `trial.distribute`.
            train_step: Function from model and batch to the loss, or to metrics with `loss`.
            validate_step: Function from model and batch to metrics.
            scheduler: Learning rate scheduler, stepped every `schedule_every`.
            schedule_every: Period of the scheduler; by default one epoch.
            precision: Precision of the forward pass: `bf16` and `fp16` use autocast, `fp16` also scales losses.
            accumulate: Forward and backward passes per step.
            clip_norm: Maximum norm of all gradients together; None does not clip.

        Raises:
            Rejected: An option is invalid, or `trial.distribute` has wrapped the optimizer.
        """
        check_unwrapped(optimizer)
        if precision not in _PRECISIONS:
            known = ", ".join(_PRECISIONS)
            raise Rejected(
                "precision_unknown",
                f"unknown precision {precision!r}: choose from {known}",
                place="precision",
            )
        if accumulate < 1:
            raise Rejected(
                "accumulate_invalid", f"accumulate must be at least 1, not {accumulate}", place="accumulate"
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
        """Return the loss of a batch, or metrics with `loss`; override it in a subclass, or pass `train_step` to the constructor."""
        if self._train_step is None:
            raise _missing("train_step")
        return self._train_step(model, batch)

    def validate_step(self, model: nn.Module, batch: Any) -> torch.Tensor | Metrics:
        """Return the metrics of a batch; override it in a subclass, or pass `validate_step` to the constructor."""
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
        """Train from the latest checkpoint, or from the start, until `until` is reached or the trial should stop.

        The end of training is validated and saved too. A further `fit`, with the same or other data, continues at the previous
        step, epoch and batch within the epoch; `until` counts from the start of the first one. If the hyperparameters differ from
        the checkpoint's, as in population-based training, the optimizer keeps the settings of the script.

        Args:
            train: Training data; a batch is that of all ranks together.
            validation: Validation data; metrics are means over all of it.
            until: When training is complete.
            validate_every: Period of validations; by default one epoch.
            checkpoint_every: Period of checkpoints; by default `checkpoint_policy` and `min_checkpoint_period` of the config decide.
            report_every: Period of training reports; by default ten batches.

        Returns:
            The metrics of the last validation; empty if this run made none.

        Raises:
            Rejected: A loader cannot be sharded, the checkpoint does not match, or another Trainer trains this trial.
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
        if not resizing.is_deferred:
            course.save()
        return found

    def _begin(self, shares: BatchSharder) -> tuple[TrainingProgress, Resizing]:
        """Continue the last `fit`, or start from the latest checkpoint or from the beginning."""
        if self._course and self._resizing:
            self._course.resume_from_state(shares)
            self._resizing.restart()
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
        """Yield this rank's chunks, batch by batch, until `until` is reached or the trial should stop."""
        coming: Iterator[Iterator[BatchShard]] = iter(())
        formed = 0
        while not self.progress.has_reached(until) and resizing.may_go_on():
            if self.progress.has_reached(until):  # the ranks that this rank joined are in a later `fit`
                resizing.put_off()
                return
            if resizing.formed != formed:  # prefetched chunks belong to another rank now
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
        """Return a collated batch on this rank's device, including tensors in nested lists and dicts."""
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


def _as_metrics(result: torch.Tensor | Metrics) -> Metrics:
    return result if isinstance(result, Mapping) else {"loss": result}


def _loss(metrics: Metrics) -> torch.Tensor:
    loss = metrics.get("loss")
    if not isinstance(loss, torch.Tensor):
        raise Rejected(
            "loss_missing",
            f"train_step returned {', '.join(metrics) or 'nothing'}, but no tensor named `loss`",
            hint="return the loss, or a dict that contains it: {'loss': loss, 'accuracy': …}",
        )
    return loss


def _missing(name: str) -> Rejected:
    return Rejected(
        "step_missing",
        f"{name} is not defined",
        hint=f"pass the function {name}(model, batch) to Trainer, or override it in a subclass",
        place=name,
    )
