"""Keras 3 support, on PyTorch or TensorFlow: `model.fit(…, callbacks=[muster.keras.MusterCallback(trial)])`."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from muster._checkpoint_errors import abbreviate, not_written_by, of_another_model
from muster._missing_framework import missing
from muster.errors import Rejected

try:
    import keras
except ImportError as error:
    raise missing("keras", error) from error

if TYPE_CHECKING:
    from muster import Trial

WEIGHTS, PLACE = "model.weights.h5", "place.json"
EXCHANGES = {"torch": "muster.torch.tensor_exchange", "tensorflow": "muster.tensorflow"}
Optimizer = TypeVar("Optimizer", bound="keras.optimizers.Optimizer")


def distribute(trial: "Trial", optimizer: Optimizer) -> Optimizer:
    """Make the optimizer apply the mean of all ranks' gradients; return the modified optimizer.

    Each rank passes its own shard of the data to `fit`, of equal length on all ranks: `x[trial.rank::trial.size]`.

    Raises:
        Rejected: The Keras backend is neither PyTorch nor TensorFlow.
    """
    if trial.size == 1:
        return optimizer
    average, apply = exchange().average, optimizer.apply

    def apply_average(_: object, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        apply(average(trial, list(grads)), trainable_variables)

    optimizer.apply = MethodType(apply_average, optimizer)
    return optimizer


class MusterCallback(keras.callbacks.Callback):
    """Resume the model, report, validate after each epoch, save when a checkpoint is due and at the end, and stop `fit` when asked.

    Metrics of the validation data (`val_…`) are reported as the validation; without validation data, all metrics of the epoch.
    A training stopped within an epoch keeps its weights and repeats that epoch, as with `keras.callbacks.BackupAndRestore`.

    Args:
        trial: The trial.
        report_every: Batches between reports.
    """

    def __init__(self, trial: "Trial", report_every: int = 10) -> None:
        super().__init__()
        self._trial, self._report_every = trial, report_every
        self._step = self._epoch = 0
        self._saved_at = -1
        self._is_cut_short = False

    def set_model(self, model: Any) -> None:
        """Disable JIT compilation before Keras compiles a step, because exchange between ranks cannot be compiled."""
        super().set_model(model)
        if self._trial.size > 1:
            model.jit_compile = False

    def on_train_begin(self, logs: Mapping[str, float] | None = None) -> None:
        """Load model, optimizer and epoch from the latest checkpoint; all ranks start with rank 0's weights.

        Raises:
            Rejected: The checkpoint belongs to another model, or was not written by this callback.
        """
        model, latest = self.model, self._trial.latest_checkpoint
        if model.optimizer and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        if latest:
            place = _load(model, latest)
            self._step = self._saved_at = place["step"]
            self._epoch = place["epoch"]
            model._initial_epoch = self._epoch  # as keras.callbacks.BackupAndRestore does
        if self._trial.size > 1:
            exchange().share(self._trial, [one.value for one in model.weights])

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
        """Remember the epoch to resume from until it is complete."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Mapping[str, float] | None = None) -> None:
        """Report every `report_every` batches, and check whether to stop."""
        self._step += 1
        if logs and self._step % self._report_every == 0:
            self._trial.report(self._step, **logs)
        if self._trial.should_stop():
            self.model.stop_training = True
            self._is_cut_short = batch + 1 != self.params["steps"]

    def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
        """Validate, and save if a checkpoint is due."""
        if self._is_cut_short:
            return
        self._epoch = epoch + 1
        found = dict(logs or {})
        held_out = {name: value for name, value in found.items() if name.startswith("val_")} or found
        self._trial.validate(self._step, **{"epochs": float(self._epoch), **held_out})
        if self._trial.should_checkpoint(self._step):
            self._save()
        if self._trial.should_stop():
            self.model.stop_training = True

    def on_train_end(self, logs: Mapping[str, float] | None = None) -> None:
        """Save unless this step is already saved."""
        self._save()

    def _save(self) -> None:
        if self._saved_at == self._step:
            return
        self._saved_at = self._step
        with self._trial.checkpoint(self._step) as folder:
            if self._trial.rank == 0:
                self.model.save_weights(folder / WEIGHTS)
                (folder / PLACE).write_text(json.dumps({"epoch": self._epoch, "step": self._step}))


def _load(model: Any, folder: Path) -> dict[str, int]:
    if not (folder / PLACE).exists():
        raise not_written_by("muster.keras.MusterCallback", folder / PLACE)
    try:
        model.load_weights(folder / WEIGHTS)
    except (ValueError, KeyError, TypeError) as error:
        raise of_another_model(
            f"the weights in {abbreviate(folder)} do not match the script's model", error
        ) from error
    place: dict[str, int] = json.loads((folder / PLACE).read_text())
    return place


class KerasCollectives(Protocol):
    """Exchange of backend tensors between ranks: `muster.torch.tensor_exchange` or `muster.tensorflow`."""

    def average(self, trial: "Trial", gradients: list[Any]) -> list[Any]: ...

    def share(self, trial: "Trial", tensors: list[Any]) -> None: ...


def exchange() -> KerasCollectives:
    """Return the exchange of the Keras backend.

    Raises:
        Rejected: The backend has none.
    """
    backend = keras.backend.backend()
    if backend not in EXCHANGES:
        raise Rejected(
            "backend_alone",
            f"Keras with the {backend} backend supports only one rank",
            hint="set KERAS_BACKEND to torch or tensorflow, or set slots_per_trial to 1",
        )
    return cast(KerasCollectives, import_module(EXCHANGES[backend]))
