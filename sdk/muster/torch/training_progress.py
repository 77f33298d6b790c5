"""State of a `Trainer`'s training: content of its checkpoints, and state for ranks that join."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch.optim import Optimizer

from muster.torch.batch_shards import BatchSharder
from muster.torch.gradients import Gradients
from muster.torch.state import Stateful, TrainingState
from muster.torch.training_units import START, Progress

if TYPE_CHECKING:
    from muster import Trial


class TrainingProgress:
    """State of a training, from its start; implements `Resizable` of `muster.elastic.resize`.

    Args:
        optimizer: Optimizer of the script.
        gradients: Exchange of gradients between ranks.
        data: Training data.
        parts: Other objects with state, by name.

    Attributes:
        progress: Training progress.
    """

    def __init__(
        self,
        trial: "Trial",
        optimizer: Optimizer,
        gradients: Gradients,
        data: BatchSharder,
        **parts: Stateful,
    ) -> None:
        self.progress = START
        self._trial, self._optimizer, self._gradients, self._data = trial, optimizer, gradients, data
        self._parts: dict[str, Any] = {**parts, "optimizer": optimizer, "data": data}
        self._files = TrainingState(trial, **self._parts)
        self._saved_at = 0

    @property
    def number(self) -> int:
        """Number of steps taken."""
        return self.progress.step

    def resume_from_state(self, data: BatchSharder) -> None:
        """Train on other data, or the same, from the current epoch and batch."""
        data.load_state_dict(self._data.state_dict())
        self._data = self._parts["data"] = data
        self._files = TrainingState(self._trial, **self._parts)

    def save(self) -> None:
        """Write a checkpoint, unless this step is already saved. Collective."""
        step = self.progress.step
        if step == self._saved_at:
            return
        with self._trial.checkpoint(step) as folder:
            self._files.save(folder, step=step, hparams=dict(self._trial.hparams))
        self._saved_at = step

    def resume(self) -> None:
        """Resume from the latest checkpoint, if any. If the hyperparameters changed, the optimizer keeps the script's settings."""
        given = [
            {name: value for name, value in group.items() if name != "params"}
            for group in self._optimizer.param_groups
        ]
        saved = self._files.load(self._trial.latest_checkpoint)
        if not saved:
            return
        if saved["hparams"] != dict(self._trial.hparams):
            for group, settings in zip(self._optimizer.param_groups, given, strict=True):
                group.update(settings)
        step = int(saved["step"])  # type: ignore[arg-type]
        self.progress = Progress(step, self._data.epoch, self._data.is_at_epochs_end)
        self._saved_at = step

    def state_dict(self) -> dict[str, Any]:
        """State that the next step depends on, except each rank's random number generators."""
        parts = {name: part.state_dict() for name, part in self._parts.items()}
        return {"parts": parts, "progress": self.progress, "saved_at": self._saved_at}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from this state, with any number of ranks."""
        for name, part in self._parts.items():
            part.load_state_dict(state["parts"][name])
        self.progress, self._saved_at = state["progress"], state["saved_at"]

    def drop_gradients(self) -> None:
        """Discard the gradients of an unfinished step."""
        self._gradients.drop()
        self._optimizer.zero_grad()

    def on_resized(self) -> None:
        """Check that the batch can be split over the new ranks.

        Raises:
            Rejected: A batch has fewer samples than ranks.
        """
        self._data.check_ranks()
