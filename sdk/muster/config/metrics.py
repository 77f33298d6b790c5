"""`searcher.metrics` and `searcher.limits` of the config: multiple objectives, and constraints on results."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from muster.config.base_section import Section, refusal

MOST_METRICS = 8
MOST_LIMITS = 16
MAX_LENGTH = 512
FURTHEST = 1e9
"""Upper bound of the relative excess over a limit."""

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=!]*?)\s*(?P<comparison><=|>=|<|>)\s*(?P<bound>[^<>=!\s]+)\s*")
_HINT = "write a metric, a comparison (<= >= < >) and a number, e.g. latency_ms <= 20"
_LEAST_EXCESS = 1e-12
LimitText = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]


class Metric(Section):
    """A validation metric that the search optimizes.

    Attributes:
        name: Name under which the script reports it.
        smaller_is_better: Whether lower values are better.
    """

    name: str = Field(min_length=1, max_length=256)
    smaller_is_better: bool = True


@dataclass(frozen=True, slots=True)
class MetricLimit:
    """A constraint on results: one metric compared with one number."""

    text: str
    metric: str
    comparison: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Return whether `value` is within the limit; NaN never is."""
        return _COMPARISONS[self.comparison](value, self.bound)

    def excess(self, value: float) -> float:
        """Return the relative excess of a finite `value` over the limit, as a fraction of the bound (of 1 if the bound is 0); positive if violated."""
        over = (value - self.bound) / (abs(self.bound) or 1.0)
        over = max(-FURTHEST, min(FURTHEST, over if self.is_ceiling else -over))
        return min(over, 0.0) if self.is_met(value) else max(over, _LEAST_EXCESS)

    @property
    def is_ceiling(self) -> bool:
        return self.comparison.startswith("<")


class SearchMetrics(Section):
    """Keys of every searcher that define good results.

    Attributes:
        metric: Validation metric that ranks trials; use `metrics` instead for several.
        smaller_is_better: Whether lower values of `metric` are better.
        metrics: Several metrics, each with its direction. The first metric decides which trials are stopped; the result is the
            Pareto front.
        limits: Constraints on results, such as `latency_ms <= 20`: a metric, a comparison (`<=`, `>=`, `<`, `>`) and a number.
    """

    metric: str = Field(min_length=1, max_length=256)
    smaller_is_better: bool = True
    metrics: tuple[Metric, ...] = Field(default=(), max_length=MOST_METRICS, strict=False)
    limits: tuple[LimitText, ...] = Field(default=(), max_length=MOST_LIMITS, strict=False)

    @property
    def aims(self) -> tuple[Metric, ...]:
        """All metrics, the ranking one first."""
        return self.metrics or (Metric(name=self.metric, smaller_is_better=self.smaller_is_better),)

    def read_limits(self) -> tuple[MetricLimit, ...]:
        """Return the parsed limits."""
        return tuple(map(read_limit, self.limits))

    @model_validator(mode="before")
    @classmethod
    def _first_ranks(cls, values: object) -> object:
        """With `metrics`, set `metric` and `smaller_is_better` from the first entry; refuse configs that set both."""
        if not isinstance(values, Mapping) or not values.get("metrics"):
            return values
        for key in ("metric", "smaller_is_better"):
            if values.get(key) is not None:
                raise refusal(
                    f"'{key}' and 'metrics' cannot be combined", key, hint="list the metric in `metrics`"
                )
        return {**values, **_ranking(values["metrics"])}

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = write(self)
        if self.metrics:
            del values["metric"], values["smaller_is_better"]
        return values

    @field_validator("metrics")
    @classmethod
    def _differ(cls, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
        names = [metric.name for metric in metrics]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise refusal(f"the metric '{name}' is repeated", index, "name")
        return metrics

    @field_validator("limits")
    @classmethod
    def _leave_room(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        limits = [read_limit(text, index) for index, text in enumerate(texts)]
        for index, limit in enumerate(limits):
            for other in limits[:index]:
                if not _is_room_between(limit, other):
                    raise refusal(f"no value satisfies both '{other.text}' and '{limit.text}'", index)
        return texts


@lru_cache(maxsize=1024)
def read_limit(text: str, *at: str | int) -> MetricLimit:
    """Parse a limit; raises a refusal at that path if it is invalid."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise refusal(f"'{text}' is not a limit", *at, hint=_HINT)
    metric, bound = found["metric"], found["bound"]
    if not metric or _number(metric) is not None:
        raise refusal(f"the limit '{text}' does not name a metric", *at, hint=_HINT)
    number = _number(bound)
    if number is None:
        raise refusal(f"the limit '{text}' compares with '{bound}', which is not a number", *at, hint=_HINT)
    return MetricLimit(text, metric, found["comparison"], number)


def _ranking(metrics: object) -> dict[str, object]:
    """The values of `metric` and `smaller_is_better` from the first entry; its errors are reported by its own validation."""
    first = metrics[0] if isinstance(metrics, list | tuple) else None
    given = first.model_dump() if isinstance(first, Metric) else first if isinstance(first, Mapping) else {}
    name, smaller = given.get("name"), given.get("smaller_is_better")
    return {
        "metric": name if isinstance(name, str) and name else "?",
        "smaller_is_better": smaller if isinstance(smaller, bool) else True,
    }


def _is_room_between(one: MetricLimit, other: MetricLimit) -> bool:
    """Whether some value satisfies both limits: a ceiling and a floor of one metric may leave none."""
    if one.metric != other.metric or one.is_ceiling == other.is_ceiling:
        return True
    ceiling, floor = (one, other) if one.is_ceiling else (other, one)
    return floor.bound < ceiling.bound or (ceiling.is_met(floor.bound) and floor.is_met(floor.bound))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
