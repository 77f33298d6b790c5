"""PyTorch Lightning inside a trial: `Trainer(max_epochs=10, **muster.lightning.arguments(trial))`, nothing else changes."""

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
"""How torch speaks of a state that a model or an optimizer does not take."""


def arguments(trial: "Trial") -> dict[str, Any]:
    """Return arguments for Lightning's `Trainer`: the callback, and the trial's ranks if it has several.

    Several ranks train by Lightning's own DistributedDataParallel; it makes its samplers distributed by itself.

    Raises:
        Rejected: Several ranks that did not meet by `distributed: torch`.
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
            f"Lightning trains on {trial.size} ranks by torch.distributed, which does not join them here",
            hint="write `distributed: torch` into the config",
        )
    # A node of one device for each rank: machines may then have different numbers of slots.
    devices = [trial.local_rank] if torch.cuda.is_available() else 1
    strategy = DDPStrategy(cluster_environment=_Ranks(trial))
    return given | {"strategy": strategy, "devices": devices, "num_nodes": trial.size}


class MusterCallback(Callback):
    """Reports what the module logs, and what each of Lightning's validations finds; saves when a checkpoint is due and at the end.

    It ends when the trial should stop, within an epoch too. Resume by `trainer.fit(model, data, ckpt_path=latest(trial))`. A step of the
    trial is one of the optimizer's. Lightning goes on in the middle of one where the data loader has a state.
    """

    def __init__(self, trial: "Trial") -> None:
        self._trial = trial
        self._saved_at = -1
        self._is_resuming = False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Listen to `self.log`."""
        if stage == "fit":
            self._is_resuming = self._trial.latest_checkpoint is not None
            trainer.loggers = [*trainer.loggers, _Reports(self._trial, trainer)]

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """What was resumed from is saved already."""
        self._saved_at = trainer.global_step
        self._is_resuming = False

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Say of a checkpoint that does not fit what it is.

        Raises:
            Rejected: Instead of what torch said of it.
        """
        if self._is_resuming and STATE_DICT_ERROR.search(str(exception)):
            what = f"the checkpoint does not fit the script's {type(pl_module).__name__}"
            raise of_another_model(what, exception) from exception

    def on_train_batch_end(self, trainer: Trainer, *given: Any) -> None:
        """Ask whether to stop."""
        self._ask(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Hand over the validation's metrics, and save if a checkpoint is due."""
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        found = next(one for one in trainer.loggers if isinstance(one, _Reports)).take()
        if found:
            self._trial.validate(trainer.global_step, **found)
        if self._trial.should_checkpoint(trainer.global_step):
            self._save(trainer)
        self._ask(trainer)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save what is not saved yet."""
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
    """Lightning's file in the checkpoint to resume from: the `ckpt_path` for `Trainer.fit`.

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
    """Where Lightning's logged metrics go: a training's to the trial at once, a validation's to whoever takes them."""

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
        """Lightning calls it on rank 0 and others; the trial counts rank 0's."""
        if self._trainer.training:
            self._trial.report(self._trainer.global_step, **metrics)
        elif not self._trainer.sanity_checking:
            self._validation.update(metrics)

    def log_hyperparams(self, *given: Any, **named: Any) -> None:
        """They are the trial's, and known."""

    def take(self) -> dict[str, float]:
        found, self._validation = self._validation, {}
        return found


class _Ranks(ClusterEnvironment):
    """The trial's ranks as Lightning sees them. They have met already, so no address is asked for."""

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
