"""An elastic training loop: remaining ranks keep process and state while the number of ranks changes."""

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from muster.elastic.batch_tuning import Elastic
from muster.elastic.resize import Resizing

if TYPE_CHECKING:
    import torch

    from muster import Trial
    from muster._trial.gang.gradient_averaging import GradientAverager


class Stateful(Protocol):
    """An object with state: scheduler, sampler or scaler."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


class Training:
    """Make a training loop elastic, with an unmodified model and optimizer.

        training = muster.elastic.Training(trial, model, optimizer, batch_size=64)
        for step in training.steps(10_000):           # ends early when the training should stop
            with step:                                # a whole step: undone and repeated if a rank is lost
                images, labels = batch(step.number, step.samples)
                optimizer.zero_grad()
                loss(model(images), labels).backward()
                optimizer.step()
                trial.report(step.number, loss=...)

    Added or removed slots change `trial.rank` and `trial.size` between steps. Remaining ranks continue with their state; new
    ranks get rank 0's state. If a rank is lost, all remaining ranks get rank 0's last copy in memory.

    The total batch is `batch_size` for any number of ranks (split over the ranks, rounded up), and the learning rate stays. If
    `max_batch_size` allows larger batches, `Elastic` chooses the batch when the ranks change, and the learning rate of a step is
    the optimizer's times `Elastic.gain` (AdaScale) to the power `lr_power`.

    Attributes:
        number: Steps taken.
        samples: Samples per rank in a step.
        elastic: Measurements and choice of the batch size.
    """

    def __init__(
        self,
        trial: "Trial",
        model: "torch.nn.Module",
        optimizer: "torch.optim.Optimizer",
        *,
        batch_size: int,
        max_batch_size: int | None = None,
        per_rank: tuple[int, int] | None = None,
        lr_power: float = 1.0,
        also: Mapping[str, Stateful] | None = None,
    ) -> None:
        """Start at step 0; call `load_state_dict` to resume from a checkpoint.

        Args:
            trial: The trial, from `muster.trial()`.
            model: Model whose parameters and buffers are the state; replicated, not wrapped.
            optimizer: Plain optimizer; this class averages the gradients.
            batch_size: Samples of all ranks in a step.
            max_batch_size: Largest total batch that trains well; None always uses `batch_size`.
            per_rank: Limits of a rank's batch, as in `Elastic`.
            lr_power: 1 for SGD; 0.5 for Adam.
            also: Other objects with state, by name.

        Raises:
            Rejected: The sizes contradict each other, or the optimizer is already wrapped.
        """
        self.number = 0
        self.elastic = Elastic(
            trial,
            model.parameters(),
            batch_size=batch_size,
            max_batch_size=max_batch_size or max(batch_size, per_rank[0] if per_rank else 1),
            per_rank=per_rank,
        )
        self._trial = trial
        self._model, self._optimizer = model, optimizer
        self._also = dict(also or {})
        self._chooses = max_batch_size is not None
        self._lr_power = lr_power
        self._averaging = _average_before_steps(trial, model, optimizer)
        self._resizing = Resizing(trial, self)

    @property
    def samples(self) -> int:
        return self.elastic.per_rank

    def steps(self, until: int) -> Iterator["Step"]:
        """Yield the steps from the next one to number `until`; stop or resize before a step when asked. Collective.

        Returns early when the training should stop: then `trial.should_stop()` is True; save and return.
        """
        while self._resizing.may_go_on() and self.number < until:
            yield Step(self)

    def state_dict(self) -> dict[str, Any]:
        """Return the state that the next step depends on, including the objects in `also`, for checkpoints and other ranks."""
        return {
            "number": self.number,
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "elastic": self.elastic.state_dict(),
            "also": {name: part.state_dict() for name, part in self._also.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from this state, with any number of ranks."""
        self.number = int(state["number"])
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.elastic.load_state_dict(state["elastic"])
        for name, part in self._also.items():
            part.load_state_dict(state["also"][name])

    def drop_gradients(self) -> None:
        """Discard the gradients of an unfinished step. Called automatically."""
        self._averaging.reset()
        self._optimizer.zero_grad()

    def on_resized(self) -> None:
        """Adapt the batch to the new number of ranks. Called automatically."""
        self.elastic.on_resized()
        if self._chooses:
            self.elastic.choose_batch()


class Step:
    """One step of a training, as a context manager; its content takes effect once.

    Attributes:
        number: Number of the step, from 1.
        samples: Samples of this rank.
    """

    def __init__(self, training: Training) -> None:
        self._training = training
        self.number = training.number + 1
        self.samples = training.samples
        self._rates: list[float] = []

    def __enter__(self) -> "Step":
        training = self._training
        if training._chooses:
            factor = training.elastic.gain**training._lr_power
            self._rates = [group["lr"] for group in training._optimizer.param_groups]
            for group in training._optimizer.param_groups:
                group["lr"] *= factor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        training = self._training
        for group, rate in zip(training._optimizer.param_groups, self._rates, strict=False):
            group["lr"] = rate
        if error is not None:
            return training._resizing.undo(error)
        with training._resizing.step():
            if training._chooses:
                training.elastic.after_step()
            training.number = self.number
        return False


def _average_before_steps(
    trial: "Trial", model: "torch.nn.Module", optimizer: "torch.optim.Optimizer"
) -> "GradientAverager":
    """Make `optimizer.step()` wait until each gradient is the mean of all ranks."""
    from muster._trial.gang.gradient_averaging import GradientAverager, check_unwrapped

    check_unwrapped(optimizer)
    averaging = GradientAverager(trial, model.named_parameters())
    optimizer.register_step_pre_hook(lambda *_: averaging.finish())
    optimizer.register_step_post_hook(lambda *_: averaging.reset())
    return averaging
