"""Objectives of a search: metrics with their directions, and limits that a result must meet."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muster.config import ExperimentConfig, Metric, MetricLimit

Others = Mapping[str, float]
"""Values that count besides the first metric, by name: further metrics, and metrics that only a limit refers to."""


class Scored(Protocol):
    """A result: the value of the first metric, and the others."""

    @property
    def value(self) -> float: ...
    @property
    def others(self) -> Others: ...


@dataclass(frozen=True, slots=True)
class Scores:
    """A plain result."""

    value: float
    others: Others = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Objectives:
    """The config's metrics, in order of rank, and its limits. `others` names the metrics that count besides the first."""

    metrics: tuple[Metric, ...]
    limits: tuple[MetricLimit, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, config: ExperimentConfig) -> "Objectives":
        metrics, limits = config.searcher.aims, config.searcher.read_limits()
        named = dict.fromkeys([*(each.name for each in metrics), *(each.metric for each in limits)])
        return cls(metrics, limits, tuple(named)[1:])

    @property
    def is_plain(self) -> bool:
        """Whether the first metric alone determines the value of a result."""
        return not self.others and not self.limits

    def missing(self, values: Mapping[str, float]) -> str | None:
        """Return the first missing metric, with the config key that requires it."""
        if self.metrics[0].name not in values and len(self.metrics) == 1:
            return f"searcher.metric '{self.metrics[0].name}'"
        for index, metric in enumerate(self.metrics):
            if metric.name not in values:
                return f"searcher.metrics[{index}] '{metric.name}'"
        for index, limit in enumerate(self.limits):
            if limit.metric not in values:
                return f"'{limit.metric}' of searcher.limits[{index}]"
        return None

    def is_admissible(self, scored: Scored) -> bool:
        """Whether a result may be chosen: all values that count are finite and every limit is met."""
        return is_finite(scored) and all(
            limit.is_met(self._value(scored, limit.metric)) for limit in self.limits
        )

    def is_better(self, scored: Scored, than: Scored | None) -> bool:
        """Whether an admissible result is better than another, or than none. Ties are broken by the next metric."""
        return than is None or self.losses(scored) < self.losses(than)

    def losses(self, scored: Scored) -> tuple[float, ...]:
        """Return the value of each metric, smaller where better."""
        return tuple(
            self._value(scored, metric.name) * (1 if metric.smaller_is_better else -1)
            for metric in self.metrics
        )

    def ranked(self, value: float) -> float:
        """Return a value of the first metric as methods compare it: smaller where better; values that are not finite rank worst."""
        if not math.isfinite(value):
            return math.inf
        return value if self.metrics[0].smaller_is_better else -value

    def excesses(self, scored: Scored) -> tuple[float, ...]:
        """Return by how much a finite result exceeds each limit, as a fraction of the bound. Above 0 where the limit is violated."""
        return tuple(limit.excess(self._value(scored, limit.metric)) for limit in self.limits)

    def _value(self, scored: Scored, metric: str) -> float:
        return scored.value if metric == self.metrics[0].name else scored.others[metric]


def is_finite(scored: Scored) -> bool:
    """Whether all values of a result that count are finite numbers."""
    return math.isfinite(scored.value) and all(map(math.isfinite, scored.others.values()))
