"""The trials of one experiment as a table: which rows meet a filter, in order, and their cells."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    """Which rows, in which order; `after` is the cursor of the row before. No limit: all of them."""

    experiment: UUID
    filter: Filter | None
    orders: tuple[Order, ...]
    after: Cursor | None = None
    limit: int | None = None


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


async def load_rows(driver: Driver, wanted: Wanted, search: Search) -> Found:
    """Return the rows behind the cursor that meet the filter, in order."""
    cells = len(wanted.orders)
    total = "count(*) OVER ()" if wanted.after is None else "NULL"
    rows = await _load(driver, wanted, search, f"t.id, t.number, t.state, {total} AS total")
    whole = rows[0]["total"] if rows else 0
    return Found(tuple(_placed(row, cells) for row in rows), None if wanted.after is not None else whole)


async def load_order(driver: Driver, wanted: Wanted, search: Search) -> list[tuple[UUID, int]]:
    """Return id and number of all trials that meet the filter, in order."""
    rows = await _load(driver, replace(wanted, limit=None), search, "t.id, t.number")
    return [(row["id"], row["number"]) for row in rows]


async def load_cells(
    driver: Driver, rows: Sequence[UUID], columns: Sequence[Column], search: Search
) -> list[tuple[JsonValue, ...]]:
    """Return the cells of these trials, in their order; None where a trial has no such value. Those of metrics may be NaN or infinite."""
    trials = {row["id"]: row for row in await driver.fetch(_TRIALS, list(rows))}
    keys = {column.key for column in columns if isinstance(column, Metric)}
    found = await load_summaries_of(driver, rows, list(keys)) if keys else {}
    return [
        tuple(_cell(column, trials[row], found.get(row, {}), search) for column in columns) for row in rows
    ]


def number_of(metric: Metric, summary: Summary | None, search: Search) -> float | None:
    """Return what the column says of a metric's summary; NaN where it has no finite value of which to say it."""
    if summary is None:
        return None
    match metric.stat:
        case Stat.COUNT:
            return summary.count
        case Stat.LAST_STEP:
            return summary.last_step
        case Stat.MIN:
            return summary.best(smaller_is_better=True)
        case Stat.MAX:
            return summary.best(smaller_is_better=False)
        case Stat.MEAN:
            return summary.mean
        case Stat.LAST:
            return summary.last
        case Stat.BEST:
            return summary.best(smaller_is_better=search.smaller_is_better)


async def _load(driver: Driver, wanted: Wanted, search: Search, shown: str) -> Sequence[Row]:
    """What is shown of the rows that are wanted, with the cells by which they are ordered as `k0`, `k1`, …"""
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
    keys = ", ".join([shown, *(f"({cell})::text AS k{place}" for place, cell in enumerate(cells))])
    joins = await _joined_metrics(driver, wanted.experiment, statement)
    sql = (
        f"SELECT {keys} FROM registry.trials t {joins}"
        f" WHERE {' AND '.join(conditions)} ORDER BY {ordered} LIMIT {limit}"
    )
    return await driver.fetch(sql, *statement.arguments)


async def _joined_metrics(driver: Driver, experiment: UUID, statement: Statement) -> str:
    """The joins of the metrics that a statement speaks of: summaries added up in SQL, but for trials whose runs repeated steps."""
    if not statement.metrics:
        return ""
    repeated = await load_repeated(driver, experiment, list(statement.metrics))
    joins = []
    for place, ((group, name), stats) in enumerate(statement.metrics.items()):
        table = _METRIC.format(
            alone=", ".join(f"{_ALONE[stat]} AS {stat}" for stat in sorted(stats)),
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
_ALONE = {
    "count": "s.count::float8",
    "min": "CASE WHEN s.finite > 0 THEN s.least END",
    "max": "CASE WHEN s.finite > 0 THEN s.greatest END",
    "mean": "s.total / nullif(s.finite, 0)",
    "last": "s.last",
    "last_step": "s.last_step::float8",
}
"""The same of the only run of a trial."""
# Most trials have one run: where there is nothing to add up, nothing is grouped.
_METRIC = """
WITH restarted AS NOT MATERIALIZED (
    SELECT r.trial FROM registry.runs r WHERE r.experiment = {experiment} AND r.number > 1)
SELECT s.trial, {alone} FROM registry.series s
WHERE s.experiment = {experiment} AND s."group" = {group} AND s.name = {name} AND s.count > 0
    AND NOT EXISTS (SELECT FROM restarted r WHERE r.trial = s.trial)
UNION ALL
SELECT s.trial, {stats} FROM registry.series s
WHERE s.experiment = {experiment} AND s."group" = {group} AND s.name = {name} AND s.count > 0
    AND s.trial IN (SELECT trial FROM restarted)
GROUP BY s.trial"""
_CORRECTED = """
SELECT * FROM ({table}) a WHERE NOT a.trial = ANY({trials})
UNION ALL
SELECT trial, {stats} FROM jsonb_to_recordset({values}) AS c(trial uuid, {types})"""
