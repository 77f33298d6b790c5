"""Rows of an experiment's trial table: those that match a filter, in order, and their cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import (
    ColumnElement,
    Float,
    FromClause,
    Row,
    RowMapping,
    Text,
    Uuid,
    case,
    cast,
    column,
    func,
    null,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.series.core.summary import Summary
from services.registry.series.store.series import Metric as MetricKey
from services.registry.series.store.summaries import load_repeated, load_summaries_of
from services.registry.store.tables import runs, series, trials
from services.registry.trial_table.core.columns import (
    Column,
    Fact,
    Hyperparameter,
    Metric,
    SearchMetric,
    Stat,
)
from services.registry.trial_table.core.filters import Filter, Order
from services.registry.trial_table.store.filtering import FACTS, Cells, Cursor, stat_of
from shared.database.statements import among, rows_given
from shared.filters.syntax_tree import columns_of


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Which rows, in which order. `after`: cursor of the last row of the previous page. `limit` None: all rows."""

    experiment: UUID
    filter: Filter | None
    orders: tuple[Order, ...]
    after: Cursor | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a table, and the number that match the filter; None on pages after the first."""

    rows: tuple["RowWithCursor", ...]
    total: int | None


@dataclass(frozen=True, slots=True)
class RowWithCursor:
    """A row, and the cursor after it."""

    trial: UUID
    number: int
    state: str | None
    cursor: tuple[str | None, ...]


async def load_rows(connection: AsyncConnection, wanted: RowQuery, search: SearchMetric) -> Found:
    """Return the rows after the cursor that match the filter, in order."""
    cells, is_first = len(wanted.orders), wanted.after is None
    total = func.count().over() if is_first else null()
    selected = (trials.c.id, trials.c.number, trials.c.state, total.label("total"))
    rows = await _load(connection, wanted, search, selected)
    whole = rows[0].total if rows else 0
    return Found(tuple(_placed(row, cells) for row in rows), whole if is_first else None)


async def load_order(
    connection: AsyncConnection, wanted: RowQuery, search: SearchMetric
) -> list[tuple[UUID, int]]:
    """Return id and number of all trials that match the filter, in order."""
    selected = (trials.c.id, trials.c.number)
    rows = await _load(connection, replace(wanted, limit=None), search, selected)
    return [(row.id, row.number) for row in rows]


async def load_cells(
    connection: AsyncConnection, rows: Sequence[UUID], columns: Sequence[Column], search: SearchMetric
) -> list[tuple[JsonValue, ...]]:
    """Return the cells of these trials, in their order; None if a trial has no such value. Those of metrics may be NaN or infinite."""
    facts = (cell.label(name) for name, cell in FACTS.items())
    query = select(trials.c.id, *facts, trials.c.hyperparameters).where(among(trials.c.id, rows))
    by_id = {row["id"]: row for row in (await connection.execute(query)).mappings()}
    keys = {column.key for column in columns if isinstance(column, Metric)}
    found = await load_summaries_of(connection, rows, list(keys)) if keys else {}
    return [
        tuple(_cell(column, by_id[row], found.get(row, {}), search) for column in columns) for row in rows
    ]


def number_of(metric: Metric, summary: Summary | None, search: SearchMetric) -> float | None:
    """Return a statistic of a metric's summary; NaN if it needs a finite value and there is none."""
    return None if summary is None else _NUMBERS[stat_of(metric, search.smaller_is_better)](summary)


async def _load(
    connection: AsyncConnection,
    wanted: RowQuery,
    search: SearchMetric,
    selected: Sequence[ColumnElement[Any]],
) -> Sequence[Row[Any]]:
    """Return the selected columns of the wanted rows, with the sort cells as `k0`, `k1`, …"""
    metrics = await _load_metrics(connection, wanted, search)
    joined: FromClause = trials
    for table in metrics.values():
        joined = joined.outerjoin(table, table.c.trial == trials.c.id)
    cells = Cells(metrics, search.smaller_is_better)
    keys = [cells.of(order.column) for order in wanted.orders]
    sort_keys = [
        (key.desc() if order.is_descending else key.asc()).nulls_last()
        for order, key in zip(wanted.orders, keys, strict=True)
    ]
    query = (
        select(*selected, *(cast(key, Text).label(f"k{index}") for index, key in enumerate(keys)))
        .select_from(joined)
        .where(trials.c.experiment == wanted.experiment, trials.c.number.is_not(None))
        .order_by(*sort_keys, trials.c.number)
        .limit(wanted.limit)
    )
    if wanted.filter is not None:
        query = query.where(cells.condition(wanted.filter))
    if wanted.after is not None:
        query = query.where(cells.behind(wanted.orders, wanted.after))
    return (await connection.execute(query)).all()


async def _load_metrics(
    connection: AsyncConnection, wanted: RowQuery, search: SearchMetric
) -> dict[MetricKey, FromClause]:
    """Return the metrics needed for filter and sort, by trial: summaries merged in SQL, except for trials whose runs repeated steps."""
    stats: dict[MetricKey, list[Stat]] = {}
    for named in columns_of(wanted.filter, wanted.orders):
        if isinstance(named, Metric):
            stat = stat_of(named, search.smaller_is_better)
            if stat not in stats.setdefault(named.key, []):
                stats[named.key].append(stat)
    if not stats:
        return {}
    repeated = await load_repeated(connection, wanted.experiment, list(stats))
    return {
        key: _metric(
            wanted.experiment, key, asked, {trial: of[key] for trial, of in repeated.items() if key in of}
        )
        for key, asked in stats.items()
    }


def _metric(
    experiment: UUID, key: MetricKey, stats: Sequence[Stat], corrected: Mapping[UUID, Summary]
) -> FromClause:
    """Return a metric's statistics by trial. Most trials have one run: only the others are grouped."""
    group, name = key
    restarted = select(runs.c.trial).where(runs.c.experiment == experiment, runs.c.number > 1)
    of_metric = (series.c.experiment == experiment, series.c.group == group, series.c.name == name)
    of_one = (
        select(series.c.trial, *(_OF_ONE[stat].label(stat) for stat in stats))
        .where(*of_metric, series.c.count > 0)
        .where(~restarted.where(runs.c.trial == series.c.trial).correlate(series).exists())
    )
    of_many = (
        select(series.c.trial, *(_OF_MANY[stat].label(stat) for stat in stats))
        .where(*of_metric, series.c.count > 0, series.c.trial.in_(restarted))
        .group_by(series.c.trial)
    )
    found = of_one.union_all(of_many)
    if corrected:
        summed = found.subquery()
        given = rows_given(
            [column("trial", Uuid), *(column(stat, Float) for stat in stats)],
            [(trial, *(_NUMBERS[stat](one) for stat in stats)) for trial, one in corrected.items()],
        )
        found = union_all(select(summed).where(~among(summed.c.trial, corrected)), select(given))
    return found.subquery()


def _placed(row: Row[Any], cells: int) -> RowWithCursor:
    return RowWithCursor(
        row.id,
        row.number,
        row.state,
        (*(getattr(row, f"k{index}") for index in range(cells)), str(row.number)),
    )


def _cell(
    column: Column, trial: RowMapping, summaries: Mapping[MetricKey, Summary], search: SearchMetric
) -> JsonValue:
    match column:
        case Fact(name):
            fact = trial[name]
            return fact.isoformat() if isinstance(fact, datetime) else fact
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


_NUMBERS: Mapping[Stat, Callable[[Summary], float]] = {
    Stat.COUNT: lambda summary: summary.count,
    Stat.MIN: lambda summary: summary.best(smaller_is_better=True),
    Stat.MAX: lambda summary: summary.best(smaller_is_better=False),
    Stat.MEAN: lambda summary: summary.mean,
    Stat.LAST: lambda summary: summary.last,
    Stat.LAST_STEP: lambda summary: summary.last_step,
}
_OF_ONE: Mapping[Stat, ColumnElement[Any]] = {
    Stat.COUNT: cast(series.c.count, Float),
    Stat.MIN: case((series.c.finite > 0, series.c.least)),
    Stat.MAX: case((series.c.finite > 0, series.c.greatest)),
    Stat.MEAN: series.c.total / func.nullif(series.c.finite, 0),
    Stat.LAST: series.c.last,
    Stat.LAST_STEP: cast(series.c.last_step, Float),
}
_OF_MANY: Mapping[Stat, ColumnElement[Any]] = {
    Stat.COUNT: cast(func.sum(series.c.count), Float),
    Stat.MIN: func.min(series.c.least).filter(series.c.finite > 0),
    Stat.MAX: func.max(series.c.greatest).filter(series.c.finite > 0),
    Stat.MEAN: func.sum(series.c.total) / func.nullif(func.sum(series.c.finite), 0),
    # Of the run with the highest step, the later one on a tie; needs no sort.
    Stat.LAST: func.max(
        array([cast(series.c.last_step, Float), cast(series.c.id, Float), series.c.last]), type_=ARRAY(Float)
    )[3],
    Stat.LAST_STEP: cast(func.max(series.c.last_step), Float),
}
"""The same, over all runs of a trial."""
