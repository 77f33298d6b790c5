"""Weighted means of metrics. Tensors stay on their device until the mean is computed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from muster._trial.gang.gang import RankGang


class RunningMeans:
    """Sums of metrics by name; a metric counts only for the chunks that report it."""

    def __init__(self) -> None:
        self._sums: dict[str, torch.Tensor | float] = {}
        self._samples: dict[str, int] = {}

    def add(self, metrics: Mapping[str, torch.Tensor | float], samples: int) -> None:
        """Add means over a number of samples."""
        for name, value in metrics.items():
            mean = value.detach().double() if isinstance(value, torch.Tensor) else float(value)
            self._sums[name] = self._sums.get(name, 0.0) + mean * samples
            self._samples[name] = self._samples.get(name, 0) + samples

    def take(self, gang: "RankGang | None" = None) -> dict[str, float]:
        """Return the means and reset. With a gang, the means are over all ranks: collective, with the same names on each rank."""
        found = {}
        for name in sorted(self._sums):
            total, samples = float(self._sums[name]), float(self._samples[name])
            if gang:
                total = gang.mean(f"metric.{name}", total)
                samples = gang.mean(f"samples.{name}", samples)
            found[name] = total / samples
        self._sums, self._samples = {}, {}
        return found
