"""Gradients averaged over the ranks while the backward pass goes on: with any number of them, which may change from step to step."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from muster.errors import Rejected

if TYPE_CHECKING:
    import torch

    from muster import Trial


class Averaging:
    """Hangs on the parameters and the optimizer: each gradient goes on its way once it is there, and `optimizer.step()` waits for all.

    Horovod's `DistributedOptimizer` does the same for a number of ranks that is known when it is made.
    """

    def __init__(
        self, trial: "Trial", named: "Iterable[tuple[str, torch.Tensor]]", optimizer: "torch.optim.Optimizer"
    ) -> None:
        if hasattr(optimizer, "_requires_update"):
            raise Rejected(
                "optimizer_wrapped",
                "the optimizer is wrapped by Horovod already, for a fixed number of ranks",
                hint="give muster.elastic.Training the plain optimizer: it averages the gradients itself",
            )
        self._trial = trial
        self._parameters = {
            parameter: f"elastic.{name}" for name, parameter in named if parameter.requires_grad
        }
        self._handles: dict[torch.Tensor, Any] = {}
        self._is_done = False
        for parameter in self._parameters:
            parameter.register_post_accumulate_grad_hook(self._on_gradient)  # type: ignore[no-untyped-call]
        optimizer.register_step_pre_hook(lambda *_: self.finish())
        optimizer.register_step_post_hook(lambda *_: self.reset())

    def finish(self) -> None:
        """Wait until every gradient is the mean of all ranks'. Parameters that the step did not use count as having 0."""
        if self._trial.size == 1 or self._is_done:
            return
        hvd = _horovod()
        for parameter in self._parameters:
            if parameter not in self._handles:
                if parameter.grad is None:
                    parameter.grad = parameter.detach().new_zeros(parameter.shape)
                self._send(parameter)
        for handle in self._handles.values():
            hvd.synchronize(handle)
        self._handles.clear()
        self._is_done = True

    def reset(self) -> None:
        """Nothing is on its way any more: the next backward pass begins, or the gang has broken."""
        self._handles.clear()
        self._is_done = False

    def _on_gradient(self, parameter: "torch.Tensor") -> None:
        if self._trial.size == 1:
            return
        if parameter in self._handles or self._is_done:
            raise Rejected(
                "second_backward",
                "a second backward pass came before optimizer.step()",
                hint="add up the losses of several parts of a batch, and call backward() once",
            )
        self._send(parameter)

    def _send(self, parameter: "torch.Tensor") -> None:
        hvd = _horovod()
        self._handles[parameter] = hvd.allreduce_async_(
            parameter.grad, name=self._parameters[parameter], op=hvd.Average
        )


def _horovod() -> Any:
    """Loaded when there is a gang: the same script runs without it."""
    import horovod.torch as hvd

    return hvd
