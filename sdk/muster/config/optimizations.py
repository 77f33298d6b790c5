"""`distributed` and `optimizations` of the config: how a trial's processes exchange gradients."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from muster.config.base_section import Section, refusal

Distributed = Literal["horovod", "torch", "none"]

_WITHOUT_EFFECT: Mapping[Distributed, Mapping[str, str]] = {
    "horovod": {},
    "torch": dict.fromkeys(
        ("tensor_fusion_cycle_time", "auto_tune_tensor_fusion"),
        "it applies to Horovod only; DistributedDataParallel sends each bucket when it is full",
    ),
    "none": dict.fromkeys(
        ("tensor_fusion_threshold", "tensor_fusion_cycle_time", "auto_tune_tensor_fusion", "gradient_compression"),
        "your own launcher exchanges the gradients",
    ),
}  # fmt: skip


class Optimizations(Section):
    """How gradients are exchanged. `trial.distribute(model, optimizer)` applies all keys; Horovod also reads the fusion keys from its environment.

    Attributes:
        aggregation_frequency: Backward passes whose gradients are accumulated locally before each exchange and optimizer step.
        average_aggregated_gradients: Whether accumulated gradients are divided by the number of passes.
        gradient_compression: Whether gradients are exchanged as 16-bit floats.
        tensor_fusion_threshold: MiB exchanged at once; with `distributed: torch`, the bucket size.
        tensor_fusion_cycle_time: Milliseconds between exchanges of Horovod.
        auto_tune_tensor_fusion: Whether Horovod tunes the threshold and the cycle time.
    """

    aggregation_frequency: int = Field(default=1, ge=1, le=65_536)
    average_aggregated_gradients: bool = True
    gradient_compression: bool = False
    tensor_fusion_threshold: int = Field(default=64, ge=0, le=65_536)
    tensor_fusion_cycle_time: float = Field(default=1, gt=0, le=10_000)
    auto_tune_tensor_fusion: bool = False

    def variables(self) -> dict[str, str]:
        """Return Horovod's environment variables for settings that differ from Horovod's defaults."""
        variables: dict[str, str] = {}
        if self.tensor_fusion_threshold != 64:
            variables["HOROVOD_FUSION_THRESHOLD"] = str(self.tensor_fusion_threshold * 1024 * 1024)
        if self.tensor_fusion_cycle_time != 1:
            variables["HOROVOD_CYCLE_TIME"] = f"{self.tensor_fusion_cycle_time:g}"
        if self.auto_tune_tensor_fusion:
            variables["HOROVOD_AUTOTUNE"] = "1"
        return variables


def check_optimizations(distributed: Distributed, optimizations: Optimizations) -> None:
    """Raise a refusal for a key that has no effect with this `distributed`."""
    for key, reason in _WITHOUT_EFFECT[distributed].items():
        if getattr(optimizations, key) != Optimizations.model_fields[key].default:
            raise refusal(
                f"'{key}' has no effect with `distributed: {distributed}`: {reason}",
                "optimizations", key,
                hint="remove it, or set distributed: horovod",
            )  # fmt: skip
