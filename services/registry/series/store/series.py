"""Reads metrics: series with the points that count, and their summaries.

Hot path on the raw driver: series and chunks of curves (`_SERIES`, `_CHUNKS`), thousands of rows per reply and chart poll.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, ColumnElement, RowMapping, Uuid, cast, column, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.series.core.chunks import Columns, from_bytes, is_long, join
from services.registry.series.core.report_cursor import MEASURED, ReadPosition, Reported
from services.registry.series.core.steps import EVERY_STEP, Steps
from services.registry.series.core.summary import Points, Summary, cut, merge, summarise_sorted
from services.registry.series.core.superseded_points import choose_newest, is_repeated
from services.registry.store.report_tables import point_chunks
from services.registry.store.tables import report_cursors, runs, series
from shared.database.driver import AsyncpgDriver, Row
from shared.database.statements import among, rows_given

Metric = tuple[str, str]
"""Group and name."""

SERIES_AT_ONCE = 100
"""Series of a run read together: their points are in memory until they are summarised."""


@dataclass(frozen=True, slots=True)
class MetricSelection:
    """Selection of metrics; without group or names, all of them."""

    group: str | None = None
    names: Sequence[str] = ()

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """SQL conditions on series."""
        conditions = []
        if self.group is not None:
            conditions.append(series.c.group == self.group)
        if self.names:
            conditions.append(among(series.c.name, self.names))
        return conditions


@dataclass(frozen=True, slots=True)
class Curve:
    """Current points of a series by step, across the runs of its trial; four columns of equal length.

    `count`: total number of points; a thinned curve has fewer.
    """

    trial: UUID
    group: str
    name: str
    count: int
    steps: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    values: NDArray[np.float64]
    runs: NDArray[np.int64]


async def load_curves(
    connection: AsyncConnection,
    trials: Sequence[UUID],
    which: MetricSelection,
    most: int | None = None,
    steps: Steps = EVERY_STEP,
) -> list[Curve]:
    """Return the series of these trials, by trial, group and name, without superseded points: at each step, the newest run's report.

    Args:
        most: Number of points of a chart. Long series are read from their roll-ups, which contain enough to choose from.
        steps: First and last step to read; not together with `most`.
    """
    rows = await _load_series(connection, trials, which)
    wanted = [list(found) for _, found in groupby(rows, key=_metric_of_trial)]
    rolled_up = {
        row["id"]: most is not None and _reads_roll_ups(found, most) for found in wanted for row in found
    }
    parts = await _load_parts(connection, rows, rolled_up, steps)
    return [curve for found in wanted if len((curve := _curve(found, parts)).steps)]


async def load_reported(
    connection: AsyncConnection, behind: Mapping[UUID, tuple[int, int]], which: MetricSelection
) -> dict[UUID, list[Reported]]:
    """Return what the scripts of these trials reported in their runs from a number on; for that run, only from a step on."""
    if not behind:
        return {}
    rows = [
        row
        for row in await _load_series(connection, list(behind), which)
        if row["number"] >= behind[row["trial"]][0] and row["group"] not in MEASURED
    ]
    since = {row["id"]: behind[row["trial"]][1] for row in rows if row["number"] == behind[row["trial"]][0]}
    parts = await _load_parts(connection, rows, {}, since=since)
    found: dict[UUID, list[Reported]] = {trial: [] for trial in behind}
    for row in rows:
        points = join(parts.get(row["id"], []))
        found[row["trial"]].append(Reported(row["number"], row["group"], row["name"], row["count"], points))
    return found


async def load_latest_positions(
    connection: AsyncConnection, trials: Sequence[UUID], which: MetricSelection
) -> dict[UUID, ReadPosition]:
    """Return the position after everything that the scripts of these trials reported, without reading points; trials without reports are left out."""
    # In one statement: marks are updated in the transaction that stores the records before them.
    reported = (
        select(series.c.trial, series.c.run, runs.c.number, series.c.last_step, series.c.count)
        .join(runs, runs.c.id == series.c.run)
        .where(among(series.c.trial, trials), series.c.group.not_in(MEASURED), series.c.count > 0)
        .where(*which.conditions)
        .cte("reported")
    )
    newest = (
        select(reported.c.trial, reported.c.run, reported.c.number)
        .distinct(reported.c.trial)
        .order_by(reported.c.trial, reported.c.number.desc())
        .cte("newest")
    )
    record = select(func.max(report_cursors.c.next) - 1).where(
        report_cursors.c.run == newest.c.run, report_cursors.c.stream == "reports"
    )
    latest = (
        select(
            newest.c.trial,
            newest.c.number,
            record.correlate(newest).scalar_subquery(),
            func.max(reported.c.last_step),
            cast(func.sum(reported.c.count), BigInteger),
        )
        .join(reported, reported.c.run == newest.c.run)
        .group_by(newest.c.trial, newest.c.run, newest.c.number)
    )
    return {trial: ReadPosition(*position) for trial, *position in await connection.execute(latest)}


async def load_summaries(connection: AsyncConnection, trial: UUID) -> dict[Metric, Summary]:
    """Return the summary of every metric of the trial, over the points that `load_curves` returns.

    Summaries of its runs are merged. If a later run repeated a step they overlap, and the points are read.
    """
    by_metric: dict[Metric, list[Row]] = defaultdict(list)
    for row in await _load_series(connection, [trial], MetricSelection()):
        by_metric[row["group"], row["name"]].append(row)
    found = {metric: reduce(merge, map(_summary, rows)) for metric, rows in by_metric.items()}
    repeated = {metric for metric, rows in by_metric.items() if _overlap(rows)}
    if repeated:
        for curve in await load_curves(
            connection, [trial], MetricSelection(names=[name for _, name in repeated])
        ):
            summary = summarise_sorted(curve.steps, curve.values)
            if summary and (curve.group, curve.name) in repeated:
                found[curve.group, curve.name] = summary
    return found


async def supersede_summaries(connection: AsyncConnection, boundaries: Mapping[UUID, int]) -> None:
    """Recompute the summaries of runs that have points beyond their last step that counts."""
    given = rows_given([column("run", Uuid), column("step", BigInteger)], boundaries.items())
    beyond = (
        select(series, runs.c.first_day, given.c.step.label("boundary"))
        .join(given, (given.c.run == series.c.run) & (given.c.step < series.c.last_step))
        .join(runs, runs.c.id == series.c.run)
        .order_by(series.c.id)
    )
    found = (await connection.execute(beyond)).mappings().all()
    for at in range(0, len(found), SERIES_AT_ONCE):
        summed = await _cut(connection, found[at : at + SERIES_AT_ONCE])
        rows = [(of, *_fields(one)) for of, one in sorted(summed.items())]
        new = rows_given([series.c.id, *(series.c[name] for name in _SUMMARY)], rows)
        corrected = {name: new.c[name] for name in _SUMMARY}
        await connection.execute(update(series).where(series.c.id == new.c.id).values(corrected))


async def _load_series(
    connection: AsyncConnection, trials: Sequence[UUID], which: MetricSelection
) -> Sequence[Row]:
    names = list(which.names) or None
    return await AsyncpgDriver.of(connection).fetch(_SERIES, list(trials), which.group, names)


def _metric_of_trial(row: Row) -> tuple[UUID, str, str]:
    return row["trial"], row["group"], row["name"]


def _overlap(rows: Sequence[Row]) -> bool:
    return len(rows) > 1 and is_repeated([(row["first_step"], row["last_step"]) for row in rows])


def _reads_roll_ups(rows: Sequence[Row], most: int) -> bool:
    """Return whether roll-ups suffice. Not if runs repeat steps: the newest run's report counts, and a roll-up lacks some steps."""
    return is_long(sum(row["count"] for row in rows), most) and not _overlap(rows)


async def _load_parts(
    connection: AsyncConnection,
    rows: Sequence[Row],
    rolled_up: Mapping[int, bool],
    steps: Steps = EVERY_STEP,
    since: Mapping[int, int] | None = None,
) -> dict[int, list[Columns]]:
    """Return the chunks of these series, without superseded or unwanted points. `since`: first step by series, where it differs."""
    if not rows:
        return {}
    boundaries = {row["id"]: row["superseded_after"] for row in rows}
    firsts = dict.fromkeys(boundaries, steps[0]) | dict(since or {})
    found = await AsyncpgDriver.of(connection).fetch(
        _CHUNKS,
        min(row["first_day"] for row in rows),
        [row["id"] for row in rows],
        [row["first_day"] for row in rows],
        list(boundaries.values()),
        [rolled_up.get(row["id"], False) for row in rows],
        list(firsts.values()),
        steps[1],
    )
    parts: dict[int, list[Columns]] = defaultdict(list)
    for chunk in found:
        points, boundary = from_bytes(chunk["body"]), boundaries[chunk["series"]]
        first, last = firsts[chunk["series"]], steps[1] if boundary is None else min(steps[1], boundary)
        if chunk["first_step"] < first or chunk["last_step"] > last:
            points = points.take((points.steps >= first) & (points.steps <= last))
        parts[chunk["series"]].append(points)
    return parts


def _curve(rows: Sequence[Row], parts: Mapping[int, list[Columns]]) -> Curve:
    """Return one metric of a trial from the series of its runs, by number."""
    runs = [(row["number"], join(parts[row["id"]]).sorted()) for row in rows if row["id"] in parts]
    points = join([of_run for _, of_run in runs])
    numbers = np.repeat(
        np.array([number for number, _ in runs], np.int64), [len(of_run) for _, of_run in runs]
    )
    if len(runs) > 1:
        # Stable: within a step, runs stay ordered by number, and each run's points in reporting order.
        order = np.argsort(points.steps, kind="stable")
        points, numbers = points.take(order), numbers[order]
    chosen = choose_newest(points.steps, numbers)
    is_whole = not _overlap(rows)
    first = rows[0]
    return Curve(
        first["trial"],
        first["group"],
        first["name"],
        sum(row["count"] for row in rows) if is_whole else int(chosen.sum()),
        points.steps[chosen],
        points.times_ms[chosen],
        points.values[chosen],
        numbers[chosen],
    )


async def _cut(connection: AsyncConnection, rows: Sequence[RowMapping]) -> dict[int, Summary | None]:
    """Return the summaries of these series up to the last step that counts."""
    firsts = [(row["id"], row["first_day"], row["last_step"]) for row in rows]
    wanted = rows_given([series.c.id, runs.c.first_day, series.c.last_step], firsts)
    chunks = point_chunks.c
    query = (
        select(chunks.series, chunks.is_thinned, chunks.body)
        .join(wanted, (chunks.series == wanted.c.id) & (chunks.day >= wanted.c.first_day))
        .where(chunks.first_step <= wanted.c.last_step, chunks.day >= min(day for _, day, _ in firsts))
        .order_by(chunks.first_step)
    )
    parts: dict[tuple[int, bool], list[Columns]] = defaultdict(list)
    for of, is_thinned, body in await connection.execute(query):
        parts[of, is_thinned].append(from_bytes(body))

    def points_of(of: int, *, is_thinned: bool) -> Points:
        points = join(parts[of, is_thinned]).sorted()
        return points.steps, points.values

    return {
        row["id"]: cut(
            _summary(row),
            points_of(row["id"], is_thinned=False),
            points_of(row["id"], is_thinned=True),
            row["boundary"],
        )
        for row in rows
    }


def _summary(row: Row | RowMapping) -> Summary:
    return Summary(*(row[column] for column in _SUMMARY))


def _fields(summary: Summary | None) -> Iterable[object]:
    if summary is None:
        return _EMPTY
    return tuple(getattr(summary, column) for column in _SUMMARY)


_SUMMARY = ("count", "finite", "least", "greatest", "total", "last", "last_step", "first_step")
_EMPTY = (0, 0, float("inf"), float("-inf"), 0.0, float("nan"), -(2**63), 2**63 - 1)
"""The table's defaults."""
_SERIES = """
SELECT s.*, r.number, r.superseded_after, r.first_day
FROM registry.series s JOIN registry.run r ON r.id = s.run
WHERE s.trial = ANY($1::uuid[]) AND ($2::text IS NULL OR s."group" = $2) AND ($3::text[] IS NULL OR s.name = ANY($3))
    AND s.count > 0
ORDER BY s.trial, s."group", s.name, r.number
"""
# Series by series (OFFSET prevents a join). As one join it used half a core while a table grew by a thousand chunks per second, and `web_live`
# showed a point after 2.5 s instead of 0.5 s.
_CHUNKS = """
SELECT w.series, c.first_step, c.last_step, c.body
FROM unnest($2::bigint[], $3::date[], $4::bigint[], $5::bool[], $6::bigint[]) AS w(series, day, boundary, rolled_up, first)
CROSS JOIN LATERAL (
    SELECT p.first_step, p.last_step, CASE WHEN w.rolled_up THEN coalesce(p.rolled_up, p.body) ELSE p.body END AS body
    FROM registry.point_chunk p
    WHERE p.series = w.series AND p.day >= $1::date AND p.day >= w.day AND p.first_step <= $7 AND p.last_step >= w.first
        AND (w.boundary IS NULL OR p.first_step <= w.boundary)
    OFFSET 0) c
ORDER BY c.first_step
"""
