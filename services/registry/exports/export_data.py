"""Reads the data of exports: point counts, curves, and a fingerprint of the trials."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Row, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.exports.core.points import MetricPoints
from services.registry.series.core.steps import EVERY_STEP, Steps, part_steps
from services.registry.series.store.series import Curve, Metric, MetricSelection, load_curves
from services.registry.store.report_tables import point_chunks
from services.registry.store.tables import runs, series, trials

POINTS_AT_ONCE = 250_000
"""Approximate limit of points in memory: a metric with more is read in ranges of steps."""


@dataclass(frozen=True, slots=True)
class ExportChunk:
    """What is read at once: several trials, or a range of steps of one metric of a large trial."""

    trials: tuple[tuple[UUID, int], ...]
    metric: Metric | None = None
    steps: Steps = EVERY_STEP


async def count_points(
    connection: AsyncConnection, experiment: UUID, group: str | None, names: Sequence[str]
) -> tuple[int, int]:
    """Return the number of points to export, counting repeated steps twice, and the newest series id, which changes with each new run."""
    count = select(_POINTS, _NEWEST).where(*_wanted(experiment, group, names))
    points, newest = (await connection.execute(count)).one()
    return points, newest


async def load_fingerprint(connection: AsyncConnection, experiment: UUID) -> tuple[int, ...]:
    """Return numbers that change whenever a trial of the experiment or its reports change."""
    changes = func.coalesce(func.sum(trials.c.request_version + trials.c.changed_version), 0)
    of_series = (select(number).where(series.c.experiment == experiment) for number in (_POINTS, _NEWEST))
    fingerprint = select(
        func.count(), cast(changes, BigInteger), *(number.scalar_subquery() for number in of_series)
    ).where(trials.c.experiment == experiment)
    return tuple((await connection.execute(fingerprint)).one())


async def plan_pieces(
    connection: AsyncConnection, experiment: UUID, group: str | None, names: Sequence[str]
) -> list[ExportChunk]:
    """Return the pieces to read, ordered by trial, group, name and step."""
    by_trial = (
        select(
            series.c.trial,
            _POINTS.label("points"),
            *(func.array_agg(series.c[name]).label(f"{name}s") for name in ("group", "name", "count")),
        )
        .where(*_wanted(experiment, group, names))
        .group_by(series.c.trial)
        .subquery()
    )
    numbered = (
        select(by_trial, trials.c.number)
        .join(trials, (trials.c.id == by_trial.c.trial) & trials.c.number.is_not(None))
        .order_by(trials.c.number)
    )
    found: list[ExportChunk] = []
    waiting: list[tuple[UUID, int]] = []
    held = 0
    for row in await connection.execute(numbered):
        trial = row.trial, row.number
        if waiting and held + row.points > POINTS_AT_ONCE:
            found.append(ExportChunk(tuple(waiting)))
            waiting, held = [], 0
        if row.points > POINTS_AT_ONCE:
            for metric, points in sorted(_by_metric(row).items()):
                ranges = [EVERY_STEP]
                if points > POINTS_AT_ONCE:
                    ranges = part_steps(await _load_chunks(connection, row.trial, metric), POINTS_AT_ONCE)
                found.extend(ExportChunk((trial,), metric, steps) for steps in ranges)
        else:
            waiting.append(trial)
            held += row.points
    return [*found, ExportChunk(tuple(waiting))] if waiting else found


async def load_rows(
    connection: AsyncConnection, piece: ExportChunk, group: str | None, names: Sequence[str]
) -> list[MetricPoints]:
    """Return the current points of a piece, by trial, group, name and step."""
    which = (
        MetricSelection(piece.metric[0], (piece.metric[1],))
        if piece.metric
        else MetricSelection(group, names)
    )
    trials = [trial for trial, _ in piece.trials]
    curves = await load_curves(connection, trials, which, steps=piece.steps)
    numbers = dict(piece.trials)
    return sorted(
        (_rows(curve, numbers[curve.trial]) for curve in curves),
        key=lambda rows: (rows.trial, rows.group, rows.name),
    )


async def _load_chunks(connection: AsyncConnection, trial: UUID, metric: Metric) -> list[tuple[int, int]]:
    """Return first step and count of each chunk."""
    group, name = metric
    in_run = (point_chunks.c.series == series.c.id) & (point_chunks.c.day >= runs.c.first_day)
    chunks = (
        select(point_chunks.c.first_step, point_chunks.c.count)
        .select_from(series.join(runs, runs.c.id == series.c.run).join(point_chunks, in_run))
        .where(series.c.trial == trial, series.c.group == group, series.c.name == name)
        .order_by(point_chunks.c.first_step)
    )
    return [(first, count) for first, count in await connection.execute(chunks)]


def _wanted(experiment: UUID, group: str | None, names: Sequence[str]) -> list[ColumnElement[bool]]:
    return [series.c.experiment == experiment, series.c.count > 0, *MetricSelection(group, names).conditions]


def _by_metric(row: Row[Any]) -> Counter[Metric]:
    """Return the number of points of each metric, over all runs."""
    found: Counter[Metric] = Counter()
    for group, name, count in zip(row.groups, row.names, row.counts, strict=True):
        found[group, name] += count
    return found


def _rows(curve: Curve, number: int) -> MetricPoints:
    return MetricPoints(
        number, curve.group, curve.name, curve.runs, curve.steps, curve.times_ms, curve.values
    )


_POINTS = cast(func.coalesce(func.sum(series.c.count), 0), BigInteger)
_NEWEST = func.coalesce(func.max(series.c.id), 0)
