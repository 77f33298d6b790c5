"""An optimizer whose step waits for the mean of all ranks' gradients, with any number of ranks, which may change from step to step."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muster.errors import Rejected

if TYPE_CHECKING:
    import torch

    from muster import Trial


class Averaged:
    """Hangs on the parameters and the optimizer: each gradient goes on its way once it is there, and `optimizer.step()` waits for all."""

    def __init__(
        self, trial: "Trial", named: "Iterable[tuple[str, torch.Tensor]]", optimizer: "torch.optim.Optimizer"
    ) -> None:
        from muster._trial.averaging import Averaging

        if hasattr(optimizer, "_requires_update"):
            raise Rejected(
                "optimizer_wrapped",
                "the optimizer is wrapped by Horovod already, for a fixed number of ranks",
                hint="give muster.elastic.Training the plain optimizer: it averages the gradients itself",
            )
        self._trial = trial
        self._averaging = Averaging(named)
        for parameter in self._averaging.parameters:
            parameter.register_post_accumulate_grad_hook(self._on_gradient)  # type: ignore[no-untyped-call]
        optimizer.register_step_pre_hook(lambda *_: self.finish())
        optimizer.register_step_post_hook(lambda *_: self.reset())

    def finish(self) -> None:
        """Wait until every gradient is the mean of all ranks'."""
        if self._trial.size > 1:
            self._averaging.finish()

    def reset(self) -> None:
        """The next backward pass begins, or the gang has broken."""
        self._averaging.reset()

    def _on_gradient(self, parameter: "torch.Tensor") -> None:
        if self._trial.size > 1:
            self._averaging.send(parameter)
