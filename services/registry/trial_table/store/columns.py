"""Columns of an experiment's trial table: its metrics, and the paths of its hyperparameters.

`_PATHS` and `_VALUES` are plain SQL: functions that return sets are less readable in SQLAlchemy Core.
"""

import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import bindparam, select, text, true, tuple_
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import Integer, Text

from services.registry.series.store.series import Metric as MetricKey
from services.registry.store.tables import series, trials
from services.registry.trial_table.core.columns import (
    Column,
    Fact,
    Hyperparameter,
    Metric,
    SearchMetric,
    Values,
)


async def load_search(connection: AsyncConnection, experiment: UUID) -> SearchMetric:
    """Return the metric that the experiment's search optimizes."""
    query = select(trials.c.metric, trials.c.smaller_is_better).where(
        trials.c.experiment == experiment, trials.c.metric.is_not(None)
    )
    row = (await connection.execute(query.limit(1))).first()
    return SearchMetric(row.metric, row.smaller_is_better) if row else SearchMetric()


async def load_metric_keys(connection: AsyncConnection, experiment: UUID) -> list[MetricKey]:
    """Return group and name of every metric that a trial of the experiment has reported, in order."""
    key = series.c.group, series.c.name
    next_key = select(*key).where(series.c.experiment == experiment).order_by(*key).limit(1)
    # Skips along the index: an experiment has few metrics and many series.
    found = next_key.cte("found", recursive=True)
    following = next_key.where(tuple_(*key) > tuple_(found.c.group, found.c.name)).lateral("following")
    found = found.union_all(select(following).select_from(found.join(following, true())))
    return [(group, name) for group, name in await connection.execute(select(found))]


async def load_hyperparameters(
    connection: AsyncConnection, experiment: UUID, sample: int | None = None
) -> list[tuple[str, ...]]:
    """Return the paths of all hyperparameters of the experiment's trials, or of a sample, in order of their names."""
    rows = await connection.scalars(_PATHS, {"experiment": experiment, "sample": sample})
    return [tuple(path) for path in rows]


async def load_values(
    connection: AsyncConnection, experiment: UUID, paths: Sequence[tuple[str, ...]]
) -> Mapping[tuple[str, ...], Values]:
    """Return the types of values at these paths over the experiment's trials; paths without values are left out."""
    given = {"experiment": experiment, "paths": [json.dumps(path) for path in paths]}
    rows = await connection.execute(_VALUES, given)
    return {paths[row.place - 1]: Values(frozenset(row.kinds), bool(row.is_whole)) for row in rows}


async def is_known(connection: AsyncConnection, experiment: UUID, column: Column) -> bool:
    """Return whether a trial of the experiment has such a value, or may get one."""
    match column:
        case Fact():
            return True
        case Hyperparameter(path):
            query = select(trials.c.id).where(
                trials.c.experiment == experiment, trials.c.hyperparameters[path].is_not(None)
            )
        case Metric():
            query = select(series.c.id).where(
                series.c.experiment == experiment,
                series.c.group == column.group,
                series.c.name == column.name,
            )
    return (await connection.execute(query.limit(1))).first() is not None


_PATHS = text("""
WITH RECURSIVE sample AS MATERIALIZED (
    SELECT hyperparameters AS found FROM registry.trial WHERE experiment = :experiment LIMIT :sample
), found AS (
    SELECT ARRAY[e.key] AS path, e.value FROM sample s CROSS JOIN LATERAL jsonb_each(s.found) e
    UNION
    SELECT f.path || e.key, e.value FROM found f
    CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(f.value) = 'object' THEN f.value END) e
)
SELECT DISTINCT path FROM found WHERE jsonb_typeof(value) <> 'object' ORDER BY path
""").bindparams(bindparam("sample", type_=Integer))
_VALUES = text("""
SELECT w.place, array_agg(DISTINCT jsonb_typeof(v.value)) AS kinds,
       bool_and(v.number = trunc(v.number) AND abs(v.number) < 9e18) AS is_whole
FROM unnest(:paths) WITH ORDINALITY AS p(path, place)
CROSS JOIN LATERAL (SELECT p.place, ARRAY(SELECT jsonb_array_elements_text(p.path::jsonb)) AS path) w
JOIN registry.trial t ON t.experiment = :experiment AND t.number IS NOT NULL
CROSS JOIN LATERAL (SELECT t.hyperparameters #> w.path AS value) found
CROSS JOIN LATERAL (SELECT found.value, CASE jsonb_typeof(found.value) WHEN 'number' THEN (found.value #>> '{}')::numeric END AS number) v
WHERE jsonb_typeof(v.value) <> 'null'
GROUP BY w.place
""").bindparams(bindparam("paths", type_=ARRAY(Text)))
