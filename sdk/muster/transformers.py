"""Hugging Face transformers support: `Trainer(…, callbacks=[muster.transformers.MusterCallback(trial)])`."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster._checkpoint_errors import not_written_by, of_another_model
from muster._missing_framework import missing
from muster.errors import Rejected

try:
    import torch
    from safetensors import safe_open
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError as error:
    raise missing("transformers", error) from error

if TYPE_CHECKING:
    from muster import Trial

OF_RANKS = "rng_state"
STATE = "trainer_state.json"
WEIGHTS = "model.safetensors"


class MusterCallback(TrainerCallback):
    """Report what the Trainer logs and evaluates, store what it saves as checkpoints, and stop it when asked.

    `TrainingArguments` decide when the Trainer evaluates and saves (`eval_strategy`, `save_strategy`); a stopped training is saved
    first. Resume with `trainer.train(resume_from_checkpoint=latest(trial, model))`.

    Raises:
        Rejected: There are several ranks, and `distributed` is not `torch`.
    """

    def __init__(self, trial: "Trial") -> None:
        if trial.size > 1 and not torch.distributed.is_initialized():
            raise Rejected(
                "ranks_not_torch",
                f"transformers needs torch.distributed to train on {trial.size} ranks, and this trial does not use it",
                hint="set `distributed: torch` in the config",
            )
        self._trial = trial
        self._saved_at = -1

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any],
        **given: Any,
    ) -> None:
        """Report logged metrics; evaluations are reported by `on_evaluate`."""
        numbers = _numbers(logs)
        if numbers and not any(name.startswith("eval_") for name in numbers):
            self._trial.report(state.global_step, **numbers)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, Any],
        **given: Any,
    ) -> None:
        """Report an evaluation as a validation."""
        self._trial.validate(state.global_step, **_numbers(metrics))
        self._ask(control)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Check whether to stop."""
        self._ask(control)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Store the files that the Trainer saved as a checkpoint, by hard links on the same disk."""
        if self._saved_at == state.global_step:
            return  # a training stopped within an epoch is saved again at its end
        self._saved_at = state.global_step
        written = Path(args.output_dir, f"checkpoint-{state.global_step}")
        with self._trial.checkpoint(state.global_step) as folder:
            for path in written.rglob("*"):
                if path.is_file() and self._is_mine(path.name):
                    _keep(path, folder / path.relative_to(written))

    def _ask(self, control: TrainerControl) -> None:
        if self._trial.should_stop():
            control.should_training_stop = control.should_save = True

    def _is_mine(self, name: str) -> bool:
        """Whether this rank stores a file: its own random state, and on rank 0 everything else; other ranks' files may be incomplete."""
        if self._trial.size > 1 and name.startswith(OF_RANKS):
            return name == f"{OF_RANKS}_{self._trial.rank}.pth"
        return self._trial.rank == 0


def latest(trial: "Trial", model: "torch.nn.Module | None" = None) -> str | None:
    """Return the checkpoint to resume from, for `Trainer.train(resume_from_checkpoint=…)`.

    Args:
        trial: The trial.
        model: Model to train; if given, a checkpoint of another model raises a short error.

    Raises:
        Rejected: transformers did not write that checkpoint, or it belongs to another model.
    """
    if trial.latest_checkpoint is None:
        return None
    if not (trial.latest_checkpoint / STATE).exists():
        raise not_written_by("muster.transformers.MusterCallback", trial.latest_checkpoint / STATE)
    if model is not None:
        _check_fits(trial.latest_checkpoint / WEIGHTS, model)
    return str(trial.latest_checkpoint)


def _check_fits(weights: Path, model: "torch.nn.Module") -> None:
    """Compare shapes from the file's header. Weights in several files are left to transformers."""
    if not weights.exists():
        return
    mine = {name: list(one.shape) for name, one in model.state_dict().items()}
    with safe_open(weights, "pt") as saved:
        names = saved.keys()
        for name in names:
            shape = list(saved.get_slice(name).get_shape())
            if shape != mine.get(name):
                here = f"{mine[name]} here" if name in mine else "missing here"
                what = f"the weights do not match the script's {type(model).__name__}"
                raise of_another_model(what, f"{name} is {shape} in the checkpoint, {here}")


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in logs.items() if isinstance(value, int | float)}


def _keep(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
