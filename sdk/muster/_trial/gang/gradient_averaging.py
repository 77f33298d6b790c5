"""Averaging of gradients by Horovod: each gradient is sent as soon as it is complete, during the backward pass.

Horovod's DistributedOptimizer is not used: it replaces the script's optimizer without its state, and fixes the number of
ranks when it is created.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from muster.errors import Rejected

if TYPE_CHECKING:
    from muster import Trial


class GradientAverager:
    """Averages the gradients of one model. Every rank sends all gradients in each step, in any order. The number of ranks may
    change between steps; a single rank sends nothing.

    Attributes:
        is_awaited: Whether the next backward pass completes the gradients of a step; other passes send nothing.
    """

    def __init__(
        self, trial: "Trial", named: Iterable[tuple[str, torch.Tensor]], compresses: bool = False
    ) -> None:
        self.is_awaited = True
        self._trial = trial
        self._names = {parameter: f"gradient.{name}" for name, parameter in named if parameter.requires_grad}
        self._compresses = compresses
        self._sent: dict[torch.Tensor, tuple[int, Any]] = {}
        self._is_done = False
        for parameter in self._names:
            parameter.register_post_accumulate_grad_hook(self._on_gradient)  # type: ignore[no-untyped-call]

    def finish(self) -> None:
        """Wait until every gradient is the mean of all ranks; repeated calls before `reset` do nothing.

        A gradient that is missing on this rank counts as 0, because other ranks may have it.
        """
        if self._is_done or self._trial.size == 1:
            return
        for parameter in self._names:
            if parameter not in self._sent:
                if parameter.grad is None:
                    parameter.grad = parameter.detach().new_zeros(parameter.shape)
                self._send(parameter)
        hvd = _horovod()
        for parameter, (handle, kind) in self._sent.items():
            parameter.grad = self._compression(hvd).decompress(hvd.synchronize(handle), kind)
        self._is_done = True

    def reset(self) -> None:
        """Prepare for the next backward pass, or after the gang broke."""
        self._sent.clear()
        self._is_done = False

    def _on_gradient(self, parameter: torch.Tensor) -> None:
        if self.is_awaited and self._trial.size > 1:
            self._send(parameter)

    def _send(self, parameter: torch.Tensor) -> None:
        if parameter in self._sent:
            raise Rejected(
                "second_backward",
                "backward() ran twice before optimizer.step()",
                hint="sum the losses of all chunks of the batch, and call backward() once",
            )
        hvd = _horovod()
        small, kind = self._compression(hvd).compress(parameter.grad)
        handle = hvd.allreduce_async_(small, name=self._names[parameter], op=hvd.Average)
        self._sent[parameter] = handle, kind

    def _compression(self, hvd: Any) -> Any:
        return hvd.Compression.fp16 if self._compresses else hvd.Compression.none


def check_unwrapped(optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer that already averages gradients.

    Raises:
        Rejected: Horovod has wrapped the optimizer.
    """
    if hasattr(optimizer, "_requires_update"):
        raise Rejected(
            "optimizer_wrapped",
            "the optimizer is already wrapped by Horovod, for a fixed number of ranks",
            hint="pass the plain optimizer, without trial.distribute",
        )


def _horovod() -> Any:
    """Import Horovod only when there is a gang, so that the script runs without it."""
    import horovod.torch as hvd

    return hvd
