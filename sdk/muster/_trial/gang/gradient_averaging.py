"""Gradients on their way between the ranks by Horovod: each is sent once it is there, while the backward pass goes on.

Not its DistributedOptimizer: that is another optimizer than the script's, without the state that it had, and for a number of ranks that is
known when it is made.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from muster.errors import Rejected

if TYPE_CHECKING:
    from muster import Trial


class GradientAverager:
    """Hangs on the parameters of one model. Every rank sends all of them in each step, in any order; the number of ranks may change
    between two steps, and where there is one nothing is sent.

    Attributes:
        is_awaited: The backward pass that comes completes the gradients of a step; of one that does not, nothing is sent.
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
        """Wait until every gradient is the mean of all ranks'; again before `reset` it does nothing.

        What this rank's part did not reach, another's may have: it counts as 0 here.
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
        """The next backward pass begins, or the gang has broken and nothing is on its way any more."""
        self._sent.clear()
        self._is_done = False

    def _on_gradient(self, parameter: torch.Tensor) -> None:
        if self.is_awaited and self._trial.size > 1:
            self._send(parameter)

    def _send(self, parameter: torch.Tensor) -> None:
        if parameter in self._sent:
            raise Rejected(
                "second_backward",
                "a second backward pass came before optimizer.step()",
                hint="add up the losses of several parts of a batch, and call backward() once",
            )
        hvd = _horovod()
        small, kind = self._compression(hvd).compress(parameter.grad)
        handle = hvd.allreduce_async_(small, name=self._names[parameter], op=hvd.Average)
        self._sent[parameter] = handle, kind

    def _compression(self, hvd: Any) -> Any:
        return hvd.Compression.fp16 if self._compresses else hvd.Compression.none


def check_unwrapped(optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer that averages gradients by itself.

    Raises:
        Rejected: Horovod has wrapped it.
    """
    if hasattr(optimizer, "_requires_update"):
        raise Rejected(
            "optimizer_wrapped",
            "the optimizer is wrapped by Horovod already, for a fixed number of ranks",
            hint="give the plain optimizer, without trial.distribute: its gradients are averaged here",
        )


def _horovod() -> Any:
    """Loaded when there is a gang: the same script runs without it."""
    import horovod.torch as hvd

    return hvd
