"""Hugging Face transformers inside a trial: `Trainer(…, callbacks=[muster.transformers.MusterCallback(trial)])`."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster._mismatch import not_written_by
from muster._missing import missing
from muster.errors import Rejected

try:
    import torch
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError as error:
    raise missing("transformers", error) from error

if TYPE_CHECKING:
    from muster import Trial

OF_RANKS = "rng_state"
STATE = "trainer_state.json"


class MusterCallback(TrainerCallback):
    """Reports what the Trainer logs, validates by what it evaluates, keeps what it saves as checkpoints, and stops it when asked.

    When it evaluates and saves is said by its own `TrainingArguments` (`eval_strategy`, `save_strategy`); one that is stopped
    is saved first. Resume by `trainer.train(resume_from_checkpoint=latest(trial))`.

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


def latest(trial: "Trial") -> str | None:
    """The checkpoint to resume from, as `Trainer.train(resume_from_checkpoint=…)` takes it.

    Raises:
        Rejected: transformers did not write that checkpoint.
    """
    if trial.latest_checkpoint is None:
        return None
    if not (trial.latest_checkpoint / STATE).exists():
        raise not_written_by("muster.transformers.MusterCallback", trial.latest_checkpoint / STATE)
    return str(trial.latest_checkpoint)


def _numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in logs.items() if isinstance(value, int | float)}


def _keep(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
