"""`searcher.metrics` and `searcher.limits` of the config: several aims of one search, and what a result must keep to."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from muster.config.section import Section, refusal

MOST_METRICS = 8
MOST_LIMITS = 16
MAX_LENGTH = 512
FURTHEST = 1e9
"""No value counts as further from its limit."""

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=!]*?)\s*(?P<comparison><=|>=|<|>)\s*(?P<bound>[^<>=!\s]+)\s*")
_HINT = "a limit is a metric, a comparison (<= >= < >) and a number, e.g. latency_ms <= 20"
_LEAST_EXCESS = 1e-12
LimitText = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]


class Metric(Section):
    """One of the validation metrics that a search is after.

    Attributes:
        name: As the script reports it.
        smaller_is_better: Whether a lower value is better.
    """

    name: str = Field(min_length=1, max_length=256)
    smaller_is_better: bool = True


@dataclass(frozen=True, slots=True)
class MetricLimit:
    """What a result must keep to: one metric against one number."""

    text: str
    metric: str
    comparison: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Return whether `value` keeps to it; NaN never does."""
        return _COMPARISONS[self.comparison](value, self.bound)

    def excess(self, value: float) -> float:
        """Return by how much a finite `value` misses it, in parts of the bound (of 1 where that is 0); above 0 where it is missed."""
        over = (value - self.bound) / (abs(self.bound) or 1.0)
        over = max(-FURTHEST, min(FURTHEST, over if self.is_ceiling else -over))
        return min(over, 0.0) if self.is_met(value) else max(over, _LEAST_EXCESS)

    @property
    def is_ceiling(self) -> bool:
        return self.comparison.startswith("<")


class SearchMetrics(Section):
    """Keys of every searcher that say which results are good.

    Attributes:
        metric: The validation metric that ranks trials; in its place `metrics`, where there are several.
        smaller_is_better: Whether a lower `metric` is better.
        metrics: Several metrics, each with its direction; the first ranks where a method stops trials, and the result is the
            Pareto front.
        limits: What a result must keep to, such as `latency_ms <= 20`: a metric, a comparison (`<=`, `>=`, `<`, `>`) and a number.
    """

    metric: str = Field(min_length=1, max_length=256)
    smaller_is_better: bool = True
    metrics: tuple[Metric, ...] = Field(default=(), max_length=MOST_METRICS, strict=False)
    limits: tuple[LimitText, ...] = Field(default=(), max_length=MOST_LIMITS, strict=False)

    @property
    def aims(self) -> tuple[Metric, ...]:
        """All metrics, the one that ranks first."""
        return self.metrics or (Metric(name=self.metric, smaller_is_better=self.smaller_is_better),)

    def read_limits(self) -> tuple[MetricLimit, ...]:
        """Return the limits, ready to be asked."""
        return tuple(map(read_limit, self.limits))

    @model_validator(mode="before")
    @classmethod
    def _first_ranks(cls, values: object) -> object:
        """With `metrics`, `metric` and `smaller_is_better` are those of the first; nobody writes both."""
        if not isinstance(values, Mapping) or not values.get("metrics"):
            return values
        for key in ("metric", "smaller_is_better"):
            if values.get(key) is not None:
                raise refusal(f"'{key}' and 'metrics' exclude each other", key, hint="put it among `metrics`")
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
                raise refusal(f"the metric '{name}' is there twice", index, "name")
        return metrics

    @field_validator("limits")
    @classmethod
    def _leave_room(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        limits = [read_limit(text, index) for index, text in enumerate(texts)]
        for index, limit in enumerate(limits):
            for other in limits[:index]:
                if not _is_room_between(limit, other):
                    raise refusal(f"no value keeps to both '{other.text}' and '{limit.text}'", index)
        return texts


@lru_cache(maxsize=1024)
def read_limit(text: str, *at: str | int) -> MetricLimit:
    """Return the limit that `text` says; raises a refusal, at that place, of what is none."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise refusal(f"'{text}' is no limit", *at, hint=_HINT)
    metric, bound = found["metric"], found["bound"]
    if not metric or _number(metric) is not None:
        raise refusal(f"the limit '{text}' names no metric", *at, hint=_HINT)
    number = _number(bound)
    if number is None:
        raise refusal(f"the limit '{text}' has '{bound}' where a number belongs", *at, hint=_HINT)
    return MetricLimit(text, metric, found["comparison"], number)


def _ranking(metrics: object) -> dict[str, object]:
    """The keys that the first metric stands for; what is wrong about it is refused where it stands."""
    first = metrics[0] if isinstance(metrics, list | tuple) else None
    given = first.model_dump() if isinstance(first, Metric) else first if isinstance(first, Mapping) else {}
    name, smaller = given.get("name"), given.get("smaller_is_better")
    return {
        "metric": name if isinstance(name, str) and name else "?",
        "smaller_is_better": smaller if isinstance(smaller, bool) else True,
    }


def _is_room_between(one: MetricLimit, other: MetricLimit) -> bool:
    """Whether some value keeps to both: a ceiling and a floor of one metric may leave none."""
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
