"""How a trial's processes train together: `distributed`, and what `optimizations` tells them."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from muster.config.section import Section, refusal

Distributed = Literal["horovod", "torch", "none"]

_WITHOUT_EFFECT: Mapping[Distributed, Mapping[str, str]] = {
    "horovod": {},
    "torch": dict.fromkeys(
        ("tensor_fusion_cycle_time", "auto_tune_tensor_fusion"),
        "it is Horovod's; DistributedDataParallel sends a bucket as soon as it is full",
    ),
    "none": dict.fromkeys(
        ("tensor_fusion_threshold", "tensor_fusion_cycle_time", "auto_tune_tensor_fusion", "gradient_compression"),
        "gradients are exchanged by your own launcher",
    ),
}  # fmt: skip


class Optimizations(Section):
    """How gradients are exchanged. The fusion keys reach Horovod by its environment; `trial.distribute(model, optimizer)` applies all.

    Attributes:
        aggregation_frequency: Backward passes whose gradients are gathered locally before they are exchanged and the optimizer steps.
        average_aggregated_gradients: Whether the gathered gradients are divided by their number.
        gradient_compression: Whether gradients are exchanged as 16-bit floats.
        tensor_fusion_threshold: MiB that are exchanged at once; with `distributed: torch` the size of a bucket.
        tensor_fusion_cycle_time: Milliseconds between Horovod's exchanges.
        auto_tune_tensor_fusion: Whether Horovod tries both by itself.
    """

    aggregation_frequency: int = Field(default=1, ge=1, le=65_536)
    average_aggregated_gradients: bool = True
    gradient_compression: bool = False
    tensor_fusion_threshold: int = Field(default=64, ge=0, le=65_536)
    tensor_fusion_cycle_time: float = Field(default=1, gt=0, le=10_000)
    auto_tune_tensor_fusion: bool = False

    def variables(self) -> dict[str, str]:
        """Return Horovod's environment variables for what differs from Horovod's own defaults."""
        variables: dict[str, str] = {}
        if self.tensor_fusion_threshold != 64:
            variables["HOROVOD_FUSION_THRESHOLD"] = str(self.tensor_fusion_threshold * 1024 * 1024)
        if self.tensor_fusion_cycle_time != 1:
            variables["HOROVOD_CYCLE_TIME"] = f"{self.tensor_fusion_cycle_time:g}"
        if self.auto_tune_tensor_fusion:
            variables["HOROVOD_AUTOTUNE"] = "1"
        return variables


def check_optimizations(distributed: Distributed, optimizations: Optimizations) -> None:
    """Raise a refusal where a key would have no effect with this `distributed`."""
    for key, reason in _WITHOUT_EFFECT[distributed].items():
        if getattr(optimizations, key) != Optimizations.model_fields[key].default:
            raise refusal(
                f"'{key}' has no effect with `distributed: {distributed}`: {reason}",
                "optimizations", key,
                hint="leave it out, or use distributed: horovod",
            )  # fmt: skip
