"""What a search is after: metrics with their directions, and the limits that a result must keep to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muster.config import ExperimentConfig, Metric, MetricLimit

Others = Mapping[str, float]
"""What counts beside the first metric, by name: further metrics, and those that only a limit speaks of."""


class Scored(Protocol):
    """A result: the first metric's value, and the others'."""

    @property
    def value(self) -> float: ...
    @property
    def others(self) -> Others: ...


@dataclass(frozen=True, slots=True)
class Scores:
    """A result, and nothing else."""

    value: float
    others: Others = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Objectives:
    """The config's metrics, the one that ranks first, and its limits; `others` are the names that count beside the first."""

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
        """Whether one value, as a rung counts it, says all that a result is worth."""
        return not self.others and not self.limits

    def missing(self, values: Mapping[str, float]) -> str | None:
        """Return the first metric that is not there, with the config's key that wants it."""
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
        """Whether a result may be chosen: all that counts is finite, and every limit is kept."""
        return is_finite(scored) and all(
            limit.is_met(self._value(scored, limit.metric)) for limit in self.limits
        )

    def is_better(self, scored: Scored, than: Scored | None) -> bool:
        """Whether an admissible result beats another, or none; the second metric decides where the first is equal, and so on."""
        return than is None or self.losses(scored) < self.losses(than)

    def losses(self, scored: Scored) -> tuple[float, ...]:
        """Return the value of each metric, smaller where better."""
        return tuple(
            self._value(scored, metric.name) * (1 if metric.smaller_is_better else -1)
            for metric in self.metrics
        )

    def ranked(self, value: float) -> float:
        """Return a value of the first metric as methods compare it: smaller where better, and not finite ranks worst."""
        if not math.isfinite(value):
            return math.inf
        return value if self.metrics[0].smaller_is_better else -value

    def excesses(self, scored: Scored) -> tuple[float, ...]:
        """Return by how much a finite result misses each limit, in parts of its bound; above 0 where it does."""
        return tuple(limit.excess(self._value(scored, limit.metric)) for limit in self.limits)

    def _value(self, scored: Scored, metric: str) -> float:
        return scored.value if metric == self.metrics[0].name else scored.others[metric]


def is_finite(scored: Scored) -> bool:
    """Whether all that counts of a result is a finite number."""
    return math.isfinite(scored.value) and all(map(math.isfinite, scored.others.values()))
