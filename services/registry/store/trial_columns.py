"""Which columns the table of an experiment's trials has: its metrics, and the paths of its hyperparameters."""

import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from services.registry.core.exporting.trials import Values
from services.registry.core.tables.columns import Column, Fact, Hyperparameter, Metric, Search
from services.registry.store.series import Metric as MetricKey
from shared.driver import Driver


async def load_search(driver: Driver, experiment: UUID) -> Search:
    """Return the metric by which the experiment's search goes."""
    rows = await driver.fetch(_SEARCH, experiment)
    return Search(rows[0]["metric"], rows[0]["smaller_is_better"]) if rows else Search()


async def load_metric_keys(driver: Driver, experiment: UUID) -> list[MetricKey]:
    """Return group and name of every metric that a trial of the experiment has reported, in order."""
    return [(row["group"], row["name"]) for row in await driver.fetch(_METRICS, experiment)]


async def load_hyperparameters(
    driver: Driver, experiment: UUID, sample: int | None = None
) -> list[tuple[str, ...]]:
    """Return the paths of all values that the experiment's trials have, or so many of them, in the order of their names."""
    return [tuple(row["path"]) for row in await driver.fetch(_PATHS, experiment, sample)]


async def load_values(
    driver: Driver, experiment: UUID, paths: Sequence[tuple[str, ...]]
) -> Mapping[tuple[str, ...], Values]:
    """Return what kinds of values the experiment's trials have at these paths; nothing of a path where none has any."""
    rows = await driver.fetch(_VALUES, experiment, [json.dumps(path) for path in paths])
    return {paths[row["place"] - 1]: Values(frozenset(row["kinds"]), bool(row["is_whole"])) for row in rows}


async def is_known(driver: Driver, experiment: UUID, column: Column) -> bool:
    """Return whether a trial of the experiment has such a value, or one may get it."""
    match column:
        case Fact():
            return True
        case Hyperparameter(path):
            return bool(await driver.fetch(_HAS_PATH, experiment, list(path)))
        case Metric():
            return bool(await driver.fetch(_HAS_METRIC, experiment, *column.key))


_SEARCH = """
SELECT metric, smaller_is_better FROM registry.trials WHERE experiment = $1 AND metric IS NOT NULL LIMIT 1
"""
_HAS_METRIC = 'SELECT 1 FROM registry.series WHERE experiment = $1 AND "group" = $2 AND name = $3 LIMIT 1'
_HAS_PATH = "SELECT 1 FROM registry.trials WHERE experiment = $1 AND hyperparameters #> $2::text[] IS NOT NULL LIMIT 1"
# Step by step along the index: an experiment has few metrics and many series.
_METRICS = """
WITH RECURSIVE found AS (
    (SELECT s."group", s.name FROM registry.series s WHERE s.experiment = $1 ORDER BY s."group", s.name LIMIT 1)
    UNION ALL
    SELECT n."group", n.name FROM found f CROSS JOIN LATERAL (
        SELECT s."group", s.name FROM registry.series s
        WHERE s.experiment = $1 AND (s."group", s.name) > (f."group", f.name)
        ORDER BY s."group", s.name LIMIT 1
    ) n
)
SELECT "group", name FROM found
"""
_PATHS = """
WITH RECURSIVE sample AS MATERIALIZED (
    SELECT hyperparameters AS found FROM registry.trials WHERE experiment = $1 LIMIT $2
), found AS (
    SELECT ARRAY[e.key] AS path, e.value FROM sample s CROSS JOIN LATERAL jsonb_each(s.found) e
    UNION
    SELECT f.path || e.key, e.value FROM found f
    CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(f.value) = 'object' THEN f.value END) e
)
SELECT DISTINCT path FROM found WHERE jsonb_typeof(value) <> 'object' ORDER BY path
"""
_VALUES = """
SELECT w.place, array_agg(DISTINCT jsonb_typeof(v.value)) AS kinds,
       bool_and((v.value #>> '{}')::numeric = trunc((v.value #>> '{}')::numeric) AND abs((v.value #>> '{}')::numeric) < 9e18)
           FILTER (WHERE jsonb_typeof(v.value) = 'number') AS is_whole
FROM unnest($2::text[]) WITH ORDINALITY AS p(path, place)
CROSS JOIN LATERAL (SELECT p.place, ARRAY(SELECT jsonb_array_elements_text(p.path::jsonb)) AS path) w
JOIN registry.trials t ON t.experiment = $1 AND t.number IS NOT NULL
CROSS JOIN LATERAL (SELECT t.hyperparameters #> w.path AS value) v
WHERE jsonb_typeof(v.value) <> 'null'
GROUP BY w.place
"""
