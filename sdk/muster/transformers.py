"""Hugging Face transformers inside a trial: `Trainer(…, callbacks=[muster.transformers.MusterCallback(trial)])`."""

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
    """Reports what the Trainer logs, validates by what it evaluates, keeps what it saves as checkpoints, and stops it when asked.

    When it evaluates and saves is said by its own `TrainingArguments` (`eval_strategy`, `save_strategy`); one that is stopped
    is saved first. Resume by `trainer.train(resume_from_checkpoint=latest(trial, model))`.

    Raises:
        Rejected: Several ranks that did not meet by `distributed: torch`.
    """

    def __init__(self, trial: "Trial") -> None:
        if trial.size > 1 and not torch.distributed.is_initialized():
            raise Rejected(
                "ranks_not_torch",
                f"transformers trains on {trial.size} ranks by torch.distributed, which does not join them here",
                hint="write `distributed: torch` into the config",
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
        """What is logged is reported; an evaluation comes to `on_evaluate` too, and is told there."""
        told = _numbers(logs)
        if told and not any(name.startswith("eval_") for name in told):
            self._trial.report(state.global_step, **told)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, Any],
        **given: Any,
    ) -> None:
        """An evaluation is a validation."""
        self._trial.validate(state.global_step, **_numbers(metrics))
        self._ask(control)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Ask whether to stop."""
        self._ask(control)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """What the Trainer has written becomes the trial's checkpoint: by links, where the disk is the same."""
        if self._saved_at == state.global_step:
            return  # a training that is stopped within an epoch is saved again at its end
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
        """Each rank writes its random numbers, and rank 0 the rest; others' files may not be whole yet."""
        if self._trial.size > 1 and name.startswith(OF_RANKS):
            return name == f"{OF_RANKS}_{self._trial.rank}.pth"
        return self._trial.rank == 0


def latest(trial: "Trial", model: "torch.nn.Module | None" = None) -> str | None:
    """The checkpoint to resume from, as `Trainer.train(resume_from_checkpoint=…)` takes it.

    Args:
        model: What is trained; given it, a checkpoint that does not fit it is told in one sentence.

    Raises:
        Rejected: transformers did not write that checkpoint, or it is of another model.
    """
    if trial.latest_checkpoint is None:
        return None
    if not (trial.latest_checkpoint / STATE).exists():
        raise not_written_by("muster.transformers.MusterCallback", trial.latest_checkpoint / STATE)
    if model is not None:
        _check_fits(trial.latest_checkpoint / WEIGHTS, model)
    return str(trial.latest_checkpoint)


def _check_fits(weights: Path, model: "torch.nn.Module") -> None:
    """Compare shapes, as the file's head tells them. Weights in several files are left to transformers' own words."""
    if not weights.exists():
        return
    mine = {name: list(one.shape) for name, one in model.state_dict().items()}
    with safe_open(weights, "pt") as saved:
        names = saved.keys()
        for name in names:
            shape = list(saved.get_slice(name).get_shape())
            if shape != mine.get(name):
                here = f"{mine[name]} here" if name in mine else "not here"
                what = f"the weights do not fit the script's {type(model).__name__}"
                raise of_another_model(what, f"{name} is {shape} in the checkpoint, {here}")


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in logs.items() if isinstance(value, int | float)}


def _keep(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
