"""Reads the declared columns of a trial table from an experiment's config: the searcher's metrics, and hyperparameters. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from muster.config.metrics import read_limit
from services.gateway.platform.references import Row
from shared.messages.trial_tables import DeclaredColumns

_STEP = "step"
"""As a `time_metric`, this is the step number and not a metric."""


def declared_by(experiment: Row) -> DeclaredColumns:
    """Return the columns that a stored experiment's config declares."""
    return declared_columns(experiment.config, experiment.metric, experiment.smaller_is_better)


def declared_columns(
    config: Mapping[str, JsonValue], metric: str | None, smaller_is_better: bool
) -> DeclaredColumns:
    """Return the columns that a config declares. `metric` ranks the trials."""
    return DeclaredColumns(
        metric=metric,
        smaller_is_better=smaller_is_better,
        validation_metrics=tuple(dict.fromkeys(_metrics(config.get("searcher"), metric))),
        hyperparameters=tuple(_paths(config.get("hyperparameters"))),
    )


def _metrics(searcher: JsonValue, metric: str | None) -> Iterator[str]:
    if metric is not None:
        yield metric
    if not isinstance(searcher, dict):
        return
    for one in _list(searcher.get("metrics")):
        if isinstance(one, dict) and isinstance(name := one.get("name"), str):
            yield name
    for limit in _list(searcher.get("limits")):
        yield read_limit(str(limit)).metric
    time = searcher.get("time_metric")
    if isinstance(time, str) and time != _STEP:
        yield time


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _paths(space: JsonValue, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all hyperparameters. A mapping with a `type` is a hyperparameter; any other mapping is a group."""
    if isinstance(space, dict) and (not above or "type" not in space):
        for name, value in space.items():
            yield from _paths(value, (*above, name))
    elif above:
        yield above
