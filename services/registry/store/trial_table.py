"""The trials of one experiment as a table: which rows meet a filter, in order, and their cells."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from pydantic import JsonValue

from services.registry.core.summary import Summary
from services.registry.core.tables.columns import Column, Fact, Hyperparameter, Metric, Search, Stat
from services.registry.core.tables.filters import Filter, Order
from services.registry.store.filtering import Cursor, Statement
from services.registry.store.series import Metric as MetricKey
from services.registry.store.summaries import load_repeated, load_summaries_of
from shared.driver import Driver, Row


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows, in which order; `after` is the cursor of the row before."""

    experiment: UUID
    filter: Filter | None
    orders: tuple[Order, ...]
    after: Cursor | None
    limit: int


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a table, and how many meet its filter in all; None where a cursor left some behind."""

    rows: tuple["Placed", ...]
    total: int | None


@dataclass(frozen=True, slots=True)
class Placed:
    """A row, and the cursor behind it."""

    trial: UUID
    number: int
    state: str | None
    cursor: tuple[str | None, ...]


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


async def is_known(driver: Driver, experiment: UUID, column: Column) -> bool:
    """Return whether a trial of the experiment has such a value, or one may get it."""
    match column:
        case Fact():
            return True
        case Hyperparameter(path):
            return bool(await driver.fetch(_HAS_PATH, experiment, list(path)))
        case Metric():
            return bool(await driver.fetch(_HAS_METRIC, experiment, *column.key))


async def load_rows(driver: Driver, wanted: Wanted, search: Search) -> Found:
    """Return the rows behind the cursor that meet the filter, in order."""
    statement = Statement(search.smaller_is_better)
    conditions = [f"t.experiment = {statement.bind(wanted.experiment, 'uuid')}", "t.number IS NOT NULL"]
    if wanted.filter is not None:
        conditions.append(statement.condition(wanted.filter))
    if wanted.after is not None:
        conditions.append(statement.after(wanted.orders, wanted.after))
    cells = [statement.cell(order.column) for order in wanted.orders]
    ends = ["DESC NULLS LAST" if order.is_descending else "ASC NULLS LAST" for order in wanted.orders]
    ordered = ", ".join([*(f"{cell} {end}" for cell, end in zip(cells, ends, strict=True)), "t.number"])
    limit = statement.bind(wanted.limit, "int")
    total = "count(*) OVER ()" if wanted.after is None else "NULL"
    keys = (f"({cell})::text AS k{place}" for place, cell in enumerate(cells))
    shown = ", ".join(["t.id", "t.number", "t.state", f"{total} AS total", *keys])
    joins = await _joined_metrics(driver, wanted.experiment, statement)
    sql = (
        f"SELECT {shown} FROM registry.trials t {joins}"
        f" WHERE {' AND '.join(conditions)} ORDER BY {ordered} LIMIT {limit}"
    )
    rows = await driver.fetch(sql, *statement.arguments)
    whole = rows[0]["total"] if rows else 0
    return Found(tuple(_placed(row, len(cells)) for row in rows), None if wanted.after is not None else whole)


async def load_cells(
    driver: Driver, rows: Sequence[UUID], columns: Sequence[Column], search: Search
) -> list[tuple[JsonValue, ...]]:
    """Return the cells of these trials, in their order; None where a trial has no such value, or one that is no number."""
    trials = {row["id"]: row for row in await driver.fetch(_TRIALS, list(rows))}
    keys = {column.key for column in columns if isinstance(column, Metric)}
    found = await load_summaries_of(driver, rows, list(keys)) if keys else {}
    return [
        tuple(_cell(column, trials[row], found.get(row, {}), search) for column in columns) for row in rows
    ]


def number_of(metric: Metric, summary: Summary | None, search: Search) -> float | None:
    """Return what the column says of a metric's summary; None where that is no number."""
    if summary is None:
        return None
    match metric.stat:
        case Stat.COUNT:
            return summary.count
        case Stat.LAST_STEP:
            return summary.last_step
        case Stat.MIN:
            value = summary.best(smaller_is_better=True)
        case Stat.MAX:
            value = summary.best(smaller_is_better=False)
        case Stat.MEAN:
            value = summary.mean
        case Stat.LAST:
            value = summary.last
        case Stat.BEST:
            value = summary.best(smaller_is_better=search.smaller_is_better)
    return value if math.isfinite(value) else None


async def _joined_metrics(driver: Driver, experiment: UUID, statement: Statement) -> str:
    """The joins of the metrics that a statement speaks of: summaries added up in SQL, but for trials whose runs repeated steps."""
    if not statement.metrics:
        return ""
    repeated = await load_repeated(driver, experiment, list(statement.metrics))
    joins = []
    for place, ((group, name), stats) in enumerate(statement.metrics.items()):
        table = _METRIC.format(
            stats=", ".join(f"{_STATS[stat]} AS {stat}" for stat in sorted(stats)),
            experiment=statement.bind(experiment, "uuid"),
            group=statement.bind(group, "text"),
            name=statement.bind(name, "text"),
        )
        corrected = {trial: found[group, name] for trial, found in repeated.items() if (group, name) in found}
        if corrected:
            table = _CORRECTED.format(
                table=table,
                trials=statement.bind(list(corrected), "uuid[]"),
                stats=", ".join(sorted(stats)),
                types=", ".join(f"{stat} float8" for stat in sorted(stats)),
                values=statement.bind(
                    json.dumps([_row(trial, one) for trial, one in corrected.items()]), "jsonb"
                ),
            )
        joins.append(f"LEFT JOIN ({table}) m{place} ON m{place}.trial = t.id")
    return " ".join(joins)


def _row(trial: UUID, summary: Summary) -> dict[str, JsonValue]:
    return {
        "trial": str(trial),
        "count": summary.count,
        "min": str(summary.best(smaller_is_better=True)),
        "max": str(summary.best(smaller_is_better=False)),
        "mean": str(summary.mean),
        "last": str(summary.last),
        "last_step": summary.last_step,
    }


def _placed(row: Row, cells: int) -> Placed:
    return Placed(
        row["id"],
        row["number"],
        row["state"],
        (*(row[f"k{place}"] for place in range(cells)), str(row["number"])),
    )


def _cell(column: Column, trial: Row, summaries: Mapping[MetricKey, Summary], search: Search) -> JsonValue:
    match column:
        case Fact(name):
            fact = trial[name]
            return fact.isoformat() if isinstance(fact, datetime) else cast(JsonValue, fact)
        case Hyperparameter(path):
            return _at(trial["hyperparameters"], path)
        case Metric():
            return number_of(column, summaries.get(column.key), search)


def _at(values: JsonValue, path: Sequence[str]) -> JsonValue:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return None
        values = values[part]
    return values


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
_TRIALS = """
SELECT id, number, state, invalid, runs, created_at AS created, ended_at AS ended, hyperparameters
FROM registry.trials WHERE id = ANY($1::uuid[])
"""
_STATS = {
    "count": "sum(s.count)::float8",
    "min": "min(s.least) FILTER (WHERE s.finite > 0)",
    "max": "max(s.greatest) FILTER (WHERE s.finite > 0)",
    "mean": "sum(s.total) / nullif(sum(s.finite), 0)",
    # Of the run that came furthest, the later one of two: without a sort of all rows.
    "last": "(max(ARRAY[s.last_step::float8, s.id::float8, s.last]))[3]",
    "last_step": "max(s.last_step)::float8",
}
_METRIC = """
SELECT s.trial, {stats} FROM registry.series s
WHERE s.experiment = {experiment} AND s."group" = {group} AND s.name = {name} AND s.count > 0
GROUP BY s.trial"""
_CORRECTED = """
SELECT * FROM ({table}) a WHERE NOT a.trial = ANY({trials})
UNION ALL
SELECT trial, {stats} FROM jsonb_to_recordset({values}) AS c(trial uuid, {types})"""
