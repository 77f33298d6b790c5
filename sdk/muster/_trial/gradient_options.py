"""What the config's `gradient_options` ask of a training, and the part of it that needs no exchange: gathering passes locally."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any

from muster.wire import Json

if TYPE_CHECKING:
    import torch

DEFAULT_FUSION_MIB = 64


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """What `trial.distribute` obeys; the rest reaches Horovod by its environment.

    Attributes:
        passes: Backward passes from one exchange, and step of the optimizer, to the next.
        averages: Whether the passes' gradients are divided by their number.
        compresses: Whether gradients travel as 16-bit floats.
        bucket_mib: What is exchanged at once; None leaves it to the backend.
    """

    passes: int = 1
    averages: bool = True
    compresses: bool = False
    bucket_mib: int | None = None


def read_gradient_options(section: Mapping[str, Json]) -> GradientOptions:
    """Read the checked section of the config; what it lacks is at its default."""
    mib = section.get("tensor_fusion_threshold", DEFAULT_FUSION_MIB)
    return GradientOptions(
        passes=int(str(section.get("aggregation_frequency", 1))),
        averages=section.get("average_aggregated_gradients") is not False,
        compresses=section.get("gradient_compression") is True,
        bucket_mib=None if mib == DEFAULT_FUSION_MIB else int(str(mib)),
    )


def gather_passes(
    optimizer: "torch.optim.Optimizer", told: GradientOptions, before_pass: Callable[[bool], None]
) -> None:
    """Let only every `passes`-th `step()`, and the `zero_grad()` after it, happen. The script calls both after each backward pass.

    Args:
        optimizer: Changed in place: its class, state and groups stay, so that schedulers and checkpoints know it.
        told: With one pass, nothing changes.
        before_pass: Told before each pass whether it is the last before a step.
    """
    if told.passes == 1:
        return
    step, zero_grad = optimizer.step, optimizer.zero_grad
    done = 0

    def counted_step(_: object, *given: Any, **named: Any) -> Any:
        nonlocal done
        done += 1
        result = step(*given, **named) if done % told.passes == 0 else None
        before_pass((done + 1) % told.passes == 0)
        return result

    def seldom_zero_grad(_: object, *given: Any, **named: Any) -> None:
        if done % told.passes == 0:
            zero_grad(*given, **named)

    # mypy: an instance's own methods; schedulers look for `step.__func__`.
    optimizer.step = MethodType(counted_step, optimizer)  # type: ignore[method-assign]
    optimizer.zero_grad = MethodType(seldom_zero_grad, optimizer)  # type: ignore[method-assign]
    if told.averages:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.requires_grad:
                    parameter.register_hook(lambda gradient: gradient / told.passes)
    before_pass(False)
