"""PyTorch Lightning support: `Trainer(max_epochs=10, **muster.lightning.arguments(trial))`; no other changes are needed."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster._checkpoint_errors import not_written_by, of_another_model
from muster._missing_framework import missing
from muster.errors import Rejected

try:
    import torch
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.loggers import Logger
    from lightning.pytorch.plugins.environments import ClusterEnvironment
    from lightning.pytorch.strategies import DDPStrategy
except ImportError as error:
    raise missing("lightning", error) from error

if TYPE_CHECKING:
    from muster import Trial

FILE = "lightning.ckpt"
STATE_DICT_ERROR = re.compile(r"state.dict", re.IGNORECASE)
"""Matches torch's errors for a state that a model or optimizer cannot load."""


def arguments(trial: "Trial") -> dict[str, Any]:
    """Return arguments for Lightning's `Trainer`: the callback, and the trial's ranks if there are several.

    Several ranks train with Lightning's DistributedDataParallel, which also shards the samplers.

    Raises:
        Rejected: There are several ranks, and `distributed` is not `torch`.
    """
    given: dict[str, Any] = {
        "callbacks": [MusterCallback(trial)],
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    if trial.size == 1:
        return given
    if not torch.distributed.is_initialized():
        raise Rejected(
            "ranks_not_torch",
            f"Lightning needs torch.distributed to train on {trial.size} ranks, and this trial does not use it",
            hint="set `distributed: torch` in the config",
        )
    # One node with one device per rank, because machines may have different numbers of slots.
    devices = [trial.local_rank] if torch.cuda.is_available() else 1
    strategy = DDPStrategy(cluster_environment=_Ranks(trial))
    return given | {"strategy": strategy, "devices": devices, "num_nodes": trial.size}


class MusterCallback(Callback):
    """Report logged metrics and validations, save when a checkpoint is due and at the end, and stop when asked, also within an epoch.

    Resume with `trainer.fit(model, data, ckpt_path=latest(trial))`. A step of the trial is an optimizer step. Lightning resumes in
    the middle of an epoch if the data loader has a state.
    """

    def __init__(self, trial: "Trial") -> None:
        self._trial = trial
        self._saved_at = -1
        self._is_resuming = False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Attach to `self.log`."""
        if stage == "fit":
            self._is_resuming = self._trial.latest_checkpoint is not None
            trainer.loggers = [*trainer.loggers, _Reports(self._trial, trainer)]

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Mark the step that training resumed from as saved."""
        self._saved_at = trainer.global_step
        self._is_resuming = False

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Replace the error for a checkpoint that does not match the model.

        Raises:
            Rejected: Instead of torch's error.
        """
        if self._is_resuming and STATE_DICT_ERROR.search(str(exception)):
            what = f"the checkpoint does not match the script's {type(pl_module).__name__}"
            raise of_another_model(what, exception) from exception

    def on_train_batch_end(self, trainer: Trainer, *given: Any) -> None:
        """Check whether to stop."""
        self._ask(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report the validation metrics, and save if a checkpoint is due."""
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        found = next(one for one in trainer.loggers if isinstance(one, _Reports)).take()
        if found:
            self._trial.validate(trainer.global_step, **found)
        if self._trial.should_checkpoint(trainer.global_step):
            self._save(trainer)
        self._ask(trainer)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save unless this step is already saved."""
        self._save(trainer)

    def _ask(self, trainer: Trainer) -> None:
        if self._trial.should_stop():
            trainer.should_stop = True

    def _save(self, trainer: Trainer) -> None:
        if self._saved_at == trainer.global_step:
            return
        with self._trial.checkpoint(trainer.global_step) as folder:
            trainer.save_checkpoint(folder / FILE)
        self._saved_at = trainer.global_step


def latest(trial: "Trial") -> Path | None:
    """Return Lightning's file in the checkpoint to resume from, for `ckpt_path` of `Trainer.fit`.

    Raises:
        Rejected: Lightning did not write that checkpoint.
    """
    if trial.latest_checkpoint is None:
        return None
    file = trial.latest_checkpoint / FILE
    if not file.exists():
        raise not_written_by("muster.lightning.MusterCallback", file)
    return file


class _Reports(Logger):
    """Receives Lightning's logged metrics: training metrics are reported immediately, validation metrics are collected."""

    def __init__(self, trial: "Trial", trainer: Trainer) -> None:
        super().__init__()
        self._trial, self._trainer = trial, trainer
        self._validation: dict[str, float] = {}

    @property
    def name(self) -> str:
        return "muster"

    @property
    def version(self) -> int:
        return 0

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Receive metrics; Lightning calls it on all ranks, and the trial records rank 0's."""
        if self._trainer.training:
            self._trial.report(self._trainer.global_step, **metrics)
        elif not self._trainer.sanity_checking:
            self._validation.update(metrics)

    def log_hyperparams(self, *given: Any, **named: Any) -> None:
        """Ignore hyperparameters, which the trial knows."""

    def take(self) -> dict[str, float]:
        found, self._validation = self._validation, {}
        return found


class _Ranks(ClusterEnvironment):
    """The trial's ranks for Lightning. They are already connected, so no address is needed."""

    def __init__(self, trial: "Trial") -> None:
        self._trial = trial

    creates_processes_externally = True
    main_address = "unused"
    main_port = 0

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self._trial.size

    def set_world_size(self, size: int) -> None:
        pass

    def global_rank(self) -> int:
        return self._trial.rank

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return self._trial.rank
