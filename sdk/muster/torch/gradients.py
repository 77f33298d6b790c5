"""Exchange of gradients between the ranks of a gang, independent of the library."""

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
    """Gradient exchange of a training; all ranks start from rank 0's model."""

    @property
    def model(self) -> nn.Module:
        """The module to call in training."""
        ...

    def during(self, is_last: bool) -> Any:
        """Return a context for one forward and backward pass; the last pass of a batch starts the exchange."""
        ...

    def finish(self) -> None:
        """Wait until every gradient is the mean of all ranks."""
        ...

    def drop(self) -> None:
        """Discard the exchange of an unfinished step."""
        ...


def join_gradients(trial: "Trial", model: nn.Module) -> Gradients:
    """Return the gradient exchange of this trial with its `optimizations`, by torch.distributed or Horovod.

    Raises:
        Rejected: `aggregation_frequency` is set; use `accumulate` of the Trainer instead.
    """
    options = read_gradient_options(trial._description.optimizations)
    if options.passes != 1:
        raise Rejected(
            "aggregation_elsewhere",
            f"aggregation_frequency is {options.passes}, but the Trainer takes one step per batch",
            place="optimizations.aggregation_frequency",
            hint=f"remove it; for the same effect, make the loader's batches {options.passes} times as large and use Trainer(accumulate={options.passes})",
        )
    if trial.size > 1 and torch.distributed.is_available() and torch.distributed.is_initialized():
        return _Distributed(model, options)
    return _HorovodGradients(trial, model, options)


class _Distributed:
    """Exchange by PyTorch's DistributedDataParallel."""

    def __init__(self, model: nn.Module, options: GradientOptions) -> None:
        self.model = made_parallel(model, options)

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
    """Exchange by Horovod during the backward pass, for any number of ranks; a single rank exchanges nothing."""

    def __init__(self, trial: "Trial", model: nn.Module, options: GradientOptions) -> None:
        self.model = model
        if trial.size > 1:
            check_reach(model.parameters())
        self._averaging = GradientAverager(trial, model.named_parameters(), options.compresses)

    @contextmanager
    def during(self, is_last: bool) -> Iterator[None]:
        self._averaging.is_awaited = is_last
        yield

    def finish(self) -> None:
        self._averaging.finish()
        self._averaging.reset()

    def drop(self) -> None:
        self._averaging.reset()
