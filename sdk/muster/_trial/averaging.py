"""Gradients on their way between the ranks by Horovod: each is sent once it is there, while the backward pass goes on.

Not its DistributedOptimizer: that is another optimizer than the script's, without the state that it had, and for a number of ranks that is
known when it is made.
"""

from collections.abc import Iterable
from typing import Any

import torch

from muster.errors import Rejected


class Averaging:
    """The parameters of one model. Where there is a gang, every rank sends all of them in each step, in any order."""

    def __init__(self, named: Iterable[tuple[str, torch.Tensor]], compresses: bool = False) -> None:
        self.parameters = {
            parameter: f"gradient.{name}" for name, parameter in named if parameter.requires_grad
        }
        self._compresses = compresses
        self._sent: dict[torch.Tensor, tuple[int, Any]] = {}
        self._is_done = False

    def send(self, parameter: torch.Tensor) -> None:
        """This rank's gradient is complete.

        Raises:
            Rejected: It was sent already.
        """
        if parameter in self._sent:
            raise Rejected(
                "second_backward",
                "a second backward pass came before optimizer.step()",
                hint="add up the losses of several parts of a batch, and call backward() once",
            )
        hvd = _horovod()
        small, kind = self._compression(hvd).compress(parameter.grad)
        handle = hvd.allreduce_async_(small, name=self.parameters[parameter], op=hvd.Average)
        self._sent[parameter] = handle, kind

    def finish(self) -> None:
        """Wait until every gradient is the mean of all ranks'; again before `reset` it does nothing.

        What this rank's part did not reach, another's may have: it counts as 0 here.
        """
        if self._is_done:
            return
        for parameter in self.parameters:
            if parameter not in self._sent:
                if parameter.grad is None:
                    parameter.grad = parameter.detach().new_zeros(parameter.shape)
                self.send(parameter)
        hvd = _horovod()
        for parameter, (handle, kind) in self._sent.items():
            parameter.grad = self._compression(hvd).decompress(hvd.synchronize(handle), kind)
        self._is_done = True

    def reset(self) -> None:
        """The next backward pass begins, or the gang has broken and nothing is on its way any more."""
        self._sent.clear()
        self._is_done = False

    def _compression(self, hvd: Any) -> Any:
        return hvd.Compression.fp16 if self._compresses else hvd.Compression.none


def _horovod() -> Any:
    """Loaded when there is a gang: the same script runs without it."""
    import horovod.torch as hvd

    return hvd
