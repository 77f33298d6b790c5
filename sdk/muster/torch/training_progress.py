"""Where a `Trainer`'s training stands: what a checkpoint holds of it, and what a rank that joins is given."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch.optim import Optimizer

from muster.torch.batch_shards import BatchSharder
from muster.torch.gradients import Gradients
from muster.torch.periods import START, Progress
from muster.torch.state import Stateful, TrainingState

if TYPE_CHECKING:
    from muster import Trial


class TrainingProgress:
    """Begins at the start; a `Resizable` of `muster.elastic.resize`.

    Args:
        optimizer: The script's.
        gradients: How the ranks come to the same ones.
        data: The training data.
        parts: What else the next step depends on, by name.

    Attributes:
        progress: How far it is.
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
        """Steps taken so far."""
        return self.progress.step

    def go_on_with(self, data: BatchSharder) -> None:
        """Train on other data, or the same, from the same place: epoch, and batches of it."""
        data.load_state_dict(self._data.state_dict())
        self._data = self._parts["data"] = data
        self._files = TrainingState(self._trial, **self._parts)

    def save(self) -> None:
        """Write a checkpoint, unless this step is saved already. Collective."""
        step = self.progress.step
        if step == self._saved_at:
            return
        with self._trial.checkpoint(step) as folder:
            self._files.save(folder, step=step, hparams=dict(self._trial.hparams))
        self._saved_at = step

    def resume(self) -> None:
        """Go on from the latest checkpoint, where there is one; other hyperparameters than its keep the optimizer's settings as the script gave them."""
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
        """All that the next step depends on, but each rank's own random numbers."""
        parts = {name: part.state_dict() for name, part in self._parts.items()}
        return {"parts": parts, "progress": self.progress, "saved_at": self._saved_at}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there, with any number of ranks."""
        for name, part in self._parts.items():
            part.load_state_dict(state["parts"][name])
        self.progress, self._saved_at = state["progress"], state["saved_at"]

    def drop_gradients(self) -> None:
        """A step was not finished: its gradients count nowhere."""
        self._gradients.drop()
        self._optimizer.zero_grad()

    def on_resized(self) -> None:
        """The ranks are others: each takes another part of a batch.

        Raises:
            Rejected: A batch has too few samples for them.
        """
        self._data.check_ranks()
