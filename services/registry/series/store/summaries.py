"""Summaries of many trials at once, over the points that count."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, Row, RowMapping, TableValuedAlias, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.series.core.summary import Summary, merge, summarise_sorted
from services.registry.series.store.series import Metric, MetricSelection, load_curves
from services.registry.store.tables import runs, series
from shared.database.statements import among, rows_given

TRIALS_AT_ONCE = 50
"""Trials with repeated steps whose points are in memory at once."""

Summaries = dict[UUID, dict[Metric, Summary]]
_FIELDS = tuple(field.name for field in fields(Summary))


async def load_summaries_of(
    connection: AsyncConnection, trials: Sequence[UUID], metrics: Sequence[Metric]
) -> Summaries:
    """Return the summaries of these metrics by trial; metrics without points are left out."""
    wanted = _wanted(metrics)
    stored = (
        select(series)
        .select_from(_of_metrics(wanted))
        .where(among(series.c.trial, trials), series.c.count > 0)
        .order_by(series.c.trial, runs.c.number)
    )
    parts: dict[UUID, dict[Metric, list[Summary]]] = defaultdict(lambda: defaultdict(list))
    for row in (await connection.execute(stored)).mappings():
        parts[row["trial"]][row["group"], row["name"]].append(_summary(row))
    found = {trial: {key: reduce(merge, each) for key, each in of.items()} for trial, of in parts.items()}
    repeated = await _load_repeated(connection, among(runs.c.trial, trials), metrics)
    for trial, corrected in repeated.items():
        found[trial] |= corrected
    return found


async def load_repeated(
    connection: AsyncConnection, experiment: UUID, metrics: Sequence[Metric]
) -> Summaries:
    """Return the summaries of those metrics of an experiment's trials whose later runs repeated steps.

    Summaries of their runs cannot be merged: at each step only the newest run's report counts, so the points are read.
    """
    return await _load_repeated(connection, runs.c.experiment == experiment, metrics)


async def _load_repeated(
    connection: AsyncConnection, of_runs: ColumnElement[bool], metrics: Sequence[Metric]
) -> Summaries:
    metric, wanted = (series.c.trial, series.c.group, series.c.name), _wanted(metrics)
    reached = func.max(series.c.last_step).over(partition_by=metric, order_by=runs.c.number, rows=(None, -1))
    restarted = select(runs.c.trial).where(of_runs, runs.c.number > 1).correlate(None)
    found = (
        select(*metric, (series.c.first_step <= reached).label("is_repeated"))
        .select_from(_of_metrics(wanted))
        .where(series.c.count > 0, series.c.trial.in_(restarted))
        .subquery()
    )
    repeated = select(found.c.trial, found.c.group, found.c.name).distinct().where(found.c.is_repeated)
    return await _from_points(connection, (await connection.execute(repeated)).all())


async def _from_points(connection: AsyncConnection, repeated: Sequence[Row[UUID, str, str]]) -> Summaries:
    wanted: dict[UUID, set[Metric]] = defaultdict(set)
    for row in repeated:
        wanted[row.trial].add((row.group, row.name))
    trials, found = list(wanted), Summaries()
    for at in range(0, len(trials), TRIALS_AT_ONCE):
        some = trials[at : at + TRIALS_AT_ONCE]
        names = {name for trial in some for _, name in wanted[trial]}
        for curve in await load_curves(connection, some, MetricSelection(names=sorted(names))):
            summary = summarise_sorted(curve.steps, curve.values)
            if summary and (curve.group, curve.name) in wanted[curve.trial]:
                found.setdefault(curve.trial, {})[curve.group, curve.name] = summary
    return found


def _summary(row: RowMapping) -> Summary:
    return Summary(**{name: row[name] for name in _FIELDS})


def _wanted(metrics: Sequence[Metric]) -> TableValuedAlias:
    return rows_given([series.c.group, series.c.name], metrics)


def _of_metrics(wanted: TableValuedAlias) -> FromClause:
    """Series of the wanted metrics, with their runs."""
    is_wanted = (wanted.c.group == series.c.group) & (wanted.c.name == series.c.name)
    return series.join(wanted, is_wanted).join(runs, runs.c.id == series.c.run)
