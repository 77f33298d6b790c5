"""Gradient options of `gradient_options`, and local accumulation of backward passes."""

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
    """Options that `trial.distribute` applies; Horovod reads the others from its environment.

    Attributes:
        passes: Backward passes per exchange and optimizer step.
        averages: Whether accumulated gradients are divided by their number.
        compresses: Whether gradients are sent as 16-bit floats.
        bucket_mib: Bucket size in MiB; None uses the backend's default.
    """

    passes: int = 1
    averages: bool = True
    compresses: bool = False
    bucket_mib: int | None = None


def read_gradient_options(section: Mapping[str, Json]) -> GradientOptions:
    """Read the validated section of the config; missing keys have their defaults."""
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
    """Let only every `passes`-th `step()` and the following `zero_grad()` take effect. The script calls both after each backward pass.

    Args:
        optimizer: Modified in place; its class, state and groups stay, so that schedulers and checkpoints work.
        told: Options; with one pass, nothing changes.
        before_pass: Called before each pass with whether it is the last one before a step.
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

    # mypy: methods of the instance; schedulers read `step.__func__`.
    optimizer.step = MethodType(counted_step, optimizer)  # type: ignore[method-assign]
    optimizer.zero_grad = MethodType(seldom_zero_grad, optimizer)  # type: ignore[method-assign]
    if told.averages:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.requires_grad:
                    parameter.register_hook(lambda gradient: gradient / told.passes)
    before_pass(False)
