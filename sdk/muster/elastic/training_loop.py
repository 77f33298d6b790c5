"""A training whose number of ranks may change while it goes on: those that stay keep process and state."""

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
    """What can be kept and loaded: schedulers, samplers, scalers."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


class Training:
    """Makes a loop elastic: the model and the optimizer as they are, and the loop's first two lines.

        training = muster.elastic.Training(trial, model, optimizer, batch_size=64)
        for step in training.steps(10_000):           # ends early when the training is to stop
            with step:                                # the whole step: one that a lost rank breaks is undone and taken again
                images, labels = batch(step.number, step.samples)
                optimizer.zero_grad()
                loss(model(images), labels).backward()
                optimizer.step()
                trial.report(step.number, loss=...)

    Slots that come and go change `trial.rank` and `trial.size` between two steps. Ranks that stay go on with what they have; rank 0's state is
    brought to those that are new. When a rank is lost, rank 0's last copy in memory is brought to all that are left.

    Batch and learning rate keep to one rule. The total batch is `batch_size` with any number of ranks (each takes its part, rounded up), and the
    learning rate stays. Where `max_batch_size` allows a larger one, `Elastic` chooses the batch whenever the ranks change, and the learning rate
    in a step is the optimizer's own times `Elastic.gain` (AdaScale) to the power `lr_power`.

    Attributes:
        number: Steps taken so far.
        samples: Of each rank in a step.
        elastic: What measures and chooses the batch.
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
        """Begins at step 0; `load_state_dict` goes on from a checkpoint.

        Args:
            trial: What `muster.trial()` returned.
            model: Its parameters and buffers are the state; replicated, not wrapped.
            optimizer: Plain; the gradients are averaged here.
            batch_size: Samples of all ranks in a step.
            max_batch_size: The largest that still trains well; None: `batch_size` always.
            per_rank: As in `Elastic`.
            lr_power: 1 for SGD; 0.5 for Adam.
            also: What else belongs to the state, by name.

        Raises:
            Rejected: The sizes contradict each other, or the optimizer is wrapped already.
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
        """Yield each step from the next one up to number `until`; before it, stop or resize where that is asked. Collective.

        It returns early when the training is to stop: then `trial.should_stop()` is True; save, and return.
        """
        while self._resizing.may_go_on() and self.number < until:
            yield Step(self)

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on, but what `also` does not name: for a checkpoint, and for the other ranks."""
        return {
            "number": self.number,
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "elastic": self.elastic.state_dict(),
            "also": {name: part.state_dict() for name, part in self._also.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there, with any number of ranks."""
        self.number = int(state["number"])
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.elastic.load_state_dict(state["elastic"])
        for name, part in self._also.items():
            part.load_state_dict(state["also"][name])

    def drop_gradients(self) -> None:
        """A step was not finished: its gradients count nowhere. It is called where that is so, by itself."""
        self._averaging.reset()
        self._optimizer.zero_grad()

    def on_resized(self) -> None:
        """The ranks are others: so is each one's part of the batch. It is called where that is so, by itself."""
        self.elastic.on_resized()
        if self._chooses:
            self.elastic.choose_batch()


class Step:
    """One step of the training, as a block; what is in it counts once.

    Attributes:
        number: From 1.
        samples: Of this rank.
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
    """Have `optimizer.step()` wait until each gradient is the mean of all ranks'."""
    from muster._trial.gang.gradient_averaging import GradientAverager, check_unwrapped

    check_unwrapped(optimizer)
    averaging = GradientAverager(trial, model.named_parameters())
    optimizer.register_step_pre_hook(lambda *_: averaging.finish())
    optimizer.register_step_post_hook(lambda *_: averaging.reset())
    return averaging
