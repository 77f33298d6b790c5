"""How the ranks of a gang come to the same gradients, by whatever joins them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from muster._trial.gang.gradient_averaging import GradientAverager
from muster._trial.gang.horovod_collectives import check_reach
from muster._trial.gang.torch_collectives import made_parallel
from muster._trial.gradient_options import GradientOptions, read_gradient_options
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster import Trial


class Gradients(Protocol):
    """What a training needs of its gang, whose ranks begin with rank 0's model."""

    @property
    def model(self) -> nn.Module:
        """What to call in training."""
        ...

    def during(self, is_last: bool) -> Any:
        """A context for one forward and backward pass; the last one of a batch begins the exchange."""
        ...

    def finish(self) -> None:
        """Return when every parameter's gradient is the average of all ranks'."""
        ...

    def drop(self) -> None:
        """A step was not finished: nothing of it is on its way any more."""
        ...


def join_gradients(trial: "Trial", model: nn.Module) -> Gradients:
    """Return what exchanges the gradients of this trial's gang, as `optimizations` say: torch.distributed or Horovod.

    Raises:
        Rejected: `optimizations` ask for steps of several passes, which here are the Trainer's to make.
    """
    told = read_gradient_options(trial._description.optimizations)
    if told.passes != 1:
        raise Rejected(
            "aggregation_elsewhere",
            f"the Trainer makes a step of each batch, not of {told.passes} backward passes",
            place="optimizations.aggregation_frequency",
            hint=f"leave it out; for the same effect, give the loader batches {told.passes} times as large, and Trainer(accumulate={told.passes})",
        )
    if trial.size > 1 and torch.distributed.is_available() and torch.distributed.is_initialized():
        return _Distributed(model, told)
    return _HorovodGradients(trial, model, told)


class _Distributed:
    """PyTorch's own DistributedDataParallel."""

    def __init__(self, model: nn.Module, told: GradientOptions) -> None:
        self.model = made_parallel(model, told)

    @contextmanager
    def during(self, is_last: bool) -> Iterator[None]:
        if is_last:
            yield
            return
        with self.model.no_sync():
            yield

    def finish(self) -> None:
        return

    def drop(self) -> None:
        return


class _HorovodGradients:
    """Averaged by Horovod as each becomes complete, while the backward pass goes on, with any number of ranks; one has nothing to do."""

    def __init__(self, trial: "Trial", model: nn.Module, told: GradientOptions) -> None:
        self.model = model
        if trial.size > 1:
            check_reach(model.parameters())
        self._averaging = GradientAverager(trial, model.named_parameters(), told.compresses)

    @contextmanager
    def during(self, is_last: bool) -> Iterator[None]:
        self._averaging.is_awaited = is_last
        yield

    def finish(self) -> None:
        self._averaging.finish()
        self._averaging.reset()

    def drop(self) -> None:
        self._averaging.reset()
