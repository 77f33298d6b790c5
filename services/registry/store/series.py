"""Reading metrics: series with what counts of their points, and their summaries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from services.registry.core.chunks import Columns, from_bytes, is_long, join
from services.registry.core.following import MEASURED, Place, Reported
from services.registry.core.steps import EVERY_STEP, Steps
from services.registry.core.summary import Points, Summary, cut, merge, summarise_sorted
from services.registry.core.supersede import choose_newest, is_repeated
from shared.driver import Driver, Row

Metric = tuple[str, str]
"""Group and name."""

SERIES_AT_ONCE = 100
"""So many are read together where all of a run's are: their points lie in memory until they are summed up."""


@dataclass(frozen=True, slots=True)
class Which:
    """Which metrics are wanted; without a group or names, all of them."""

    group: str | None = None
    names: Sequence[str] = ()

    @property
    def terms(self) -> tuple[str | None, list[str] | None]:
        """As statements take them."""
        return self.group, list(self.names) or None


@dataclass(frozen=True, slots=True)
class Curve:
    """A series' current points by step, across the runs of its trial; four columns of one length.

    `count` is how many there are; fewer are here where a thinned curve was asked for.
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
    driver: Driver,
    trials: Sequence[UUID],
    which: Which,
    most: int | None = None,
    steps: Steps = EVERY_STEP,
) -> list[Curve]:
    """Return the series of these trials, by trial, group and name, without superseded points: of a step, the newest run's report.

    Args:
        most: A chart's points. Of a series that is long beside it the roll-ups are read, which hold enough to choose from.
        steps: The first and the last that are wanted, not together with `most`.
    """
    rows = await driver.fetch(_SERIES, list(trials), *which.terms)
    wanted = [list(found) for _, found in groupby(rows, key=_metric_of_trial)]
    rolled_up = {
        row["id"]: most is not None and _reads_roll_ups(found, most) for found in wanted for row in found
    }
    parts = await _load_parts(driver, rows, rolled_up, steps)
    return [curve for found in wanted if len((curve := _curve(found, parts)).steps)]


async def load_reported(
    driver: Driver, behind: Mapping[UUID, tuple[int, int]], which: Which
) -> dict[UUID, list[Reported]]:
    """Return what the scripts of these trials reported in their runs from a number on; of that run's series what lies from a step on."""
    if not behind:
        return {}
    rows = [
        row
        for row in await driver.fetch(_SERIES, list(behind), *which.terms)
        if row["number"] >= behind[row["trial"]][0] and row["group"] not in MEASURED
    ]
    since = {row["id"]: behind[row["trial"]][1] for row in rows if row["number"] == behind[row["trial"]][0]}
    parts = await _load_parts(driver, rows, {}, since=since)
    found: dict[UUID, list[Reported]] = {trial: [] for trial in behind}
    for row in rows:
        points = join(parts.get(row["id"], []))
        found[row["trial"]].append(Reported(row["number"], row["group"], row["name"], row["count"], points))
    return found


async def load_ends(driver: Driver, trials: Sequence[UUID], which: Which) -> dict[UUID, Place]:
    """Return behind what the scripts of these trials have reported so far, without reading any of it; trials that reported nothing are left out."""
    rows = await driver.fetch(_ENDS, list(trials), *which.terms, list(MEASURED))
    return {row["trial"]: Place(row["run"], row["record"], row["step"], row["count"]) for row in rows}


async def load_summaries(driver: Driver, trial: UUID) -> dict[Metric, Summary]:
    """Return the summary of every metric of the trial, of the points that `load_curves` gives.

    Those of its runs are put together. Where a later run reported a step again they overlap, and the points are read.
    """
    by_metric: dict[Metric, list[Row]] = defaultdict(list)
    for row in await driver.fetch(_SERIES, [trial], None, None):
        by_metric[row["group"], row["name"]].append(row)
    found = {metric: reduce(merge, map(_summary, rows)) for metric, rows in by_metric.items()}
    repeated = {metric for metric, rows in by_metric.items() if _overlap(rows)}
    if repeated:
        for curve in await load_curves(driver, [trial], Which(names=[name for _, name in repeated])):
            summary = summarise_sorted(curve.steps, curve.values)
            if summary and (curve.group, curve.name) in repeated:
                found[curve.group, curve.name] = summary
    return found


async def supersede_summaries(driver: Driver, boundaries: Mapping[UUID, int]) -> None:
    """Sum up anew the series of runs that reach beyond the last of their steps that counts."""
    beyond = await driver.fetch(_BEYOND, list(boundaries), list(boundaries.values()))
    for at in range(0, len(beyond), SERIES_AT_ONCE):
        rows = beyond[at : at + SERIES_AT_ONCE]
        summed = await _cut(driver, rows)
        await driver.fetch(
            _CORRECT, *zip(*[(series, *_fields(one)) for series, one in sorted(summed.items())], strict=True)
        )


def _metric_of_trial(row: Row) -> tuple[UUID, str, str]:
    return row["trial"], row["group"], row["name"]


def _overlap(rows: Sequence[Row]) -> bool:
    return len(rows) > 1 and is_repeated([(row["first_step"], row["last_step"]) for row in rows])


def _reads_roll_ups(rows: Sequence[Row], most: int) -> bool:
    """Not where runs repeat steps: of a step the newest run's report counts, and a roll-up does not have each step."""
    return is_long(sum(row["count"] for row in rows), most) and not _overlap(rows)


async def _load_parts(
    driver: Driver,
    rows: Sequence[Row],
    rolled_up: Mapping[int, bool],
    steps: Steps = EVERY_STEP,
    since: Mapping[int, int] | None = None,
) -> dict[int, list[Columns]]:
    """The chunks of these series, each without what is superseded or not wanted; `since` has a first step of their own for some."""
    if not rows:
        return {}
    boundaries = {row["id"]: row["superseded_after"] for row in rows}
    firsts = dict.fromkeys(boundaries, steps[0]) | dict(since or {})
    found = await driver.fetch(
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
    """One metric of a trial from the series of its runs, by number."""
    runs = [(row["number"], join(parts[row["id"]]).sorted()) for row in rows if row["id"] in parts]
    points = join([of_run for _, of_run in runs])
    numbers = np.repeat(
        np.array([number for number, _ in runs], np.int64), [len(of_run) for _, of_run in runs]
    )
    if len(runs) > 1:
        # Stable: within a step the runs stay in the order of their numbers, each in that of its reports.
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


async def _cut(driver: Driver, rows: Sequence[Row]) -> dict[int, Summary | None]:
    """The summaries of these series up to the last step that counts."""
    ids, days = [row["id"] for row in rows], [row["first_day"] for row in rows]
    parts: dict[tuple[int, bool], list[Columns]] = defaultdict(list)
    for chunk in await driver.fetch(_ALL_CHUNKS, min(days), ids, days, [row["last_step"] for row in rows]):
        parts[chunk["series"], chunk["is_thinned"]].append(from_bytes(chunk["body"]))

    def points_of(series: int, *, is_thinned: bool) -> Points:
        points = join(parts[series, is_thinned]).sorted()
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


def _summary(row: Row) -> Summary:
    return Summary(*(row[column] for column in _SUMMARY))


def _fields(summary: Summary | None) -> Iterable[object]:
    if summary is None:
        return _EMPTY
    return tuple(getattr(summary, column) for column in _SUMMARY)


_SUMMARY = ("count", "finite", "least", "greatest", "total", "last", "last_step", "first_step")
_EMPTY = (0, 0, float("inf"), float("-inf"), 0.0, float("nan"), -(2**63), 2**63 - 1)
"""As the table's defaults."""
_SERIES = """
SELECT s.*, r.number, r.superseded_after, r.first_day
FROM registry.series s JOIN registry.runs r ON r.id = s.run
WHERE s.trial = ANY($1::uuid[]) AND ($2::text IS NULL OR s."group" = $2) AND ($3::text[] IS NULL OR s.name = ANY($3))
    AND s.count > 0
ORDER BY s.trial, s."group", s.name, r.number
"""
# In one statement: marks move in the transaction that stores what lies before them.
_ENDS = """
WITH reported AS (
    SELECT s.trial, s.run, r.number, s.last_step, s.count FROM registry.series s JOIN registry.runs r ON r.id = s.run
    WHERE s.trial = ANY($1::uuid[]) AND ($2::text IS NULL OR s."group" = $2) AND ($3::text[] IS NULL OR s.name = ANY($3))
        AND s."group" <> ALL($4::text[]) AND s.count > 0
), newest AS (SELECT DISTINCT ON (trial) trial, run, number FROM reported ORDER BY trial, number DESC)
SELECT n.trial, n.number AS run, max(e.last_step) AS step, sum(e.count)::bigint AS count, (
    SELECT max(m.next) - 1 FROM registry.marks m WHERE m.run = n.run AND m.stream = 'reports') AS record
FROM newest n JOIN reported e ON e.run = n.run GROUP BY n.trial, n.run, n.number
"""
_BEYOND = """
SELECT s.*, r.first_day, b.step AS boundary
FROM unnest($1::uuid[], $2::bigint[]) AS b(run, step)
JOIN registry.runs r ON r.id = b.run
JOIN registry.series s ON s.run = b.run AND s.last_step > b.step
ORDER BY s.id
"""
# Series by series (OFFSET keeps it so). As one join it kept half a core busy beside a table that grew by a thousand chunks a second, and `web_live`
# showed a point after 2.5 s; like this after 0.5.
_CHUNKS = """
SELECT w.series, c.first_step, c.last_step, c.body
FROM unnest($2::bigint[], $3::date[], $4::bigint[], $5::bool[], $6::bigint[]) AS w(series, day, boundary, rolled_up, first)
CROSS JOIN LATERAL (
    SELECT p.first_step, p.last_step, CASE WHEN w.rolled_up THEN coalesce(p.rolled_up, p.body) ELSE p.body END AS body
    FROM registry.point_chunks p
    WHERE p.series = w.series AND p.day >= $1::date AND p.day >= w.day AND p.first_step <= $7 AND p.last_step >= w.first
        AND (w.boundary IS NULL OR p.first_step <= w.boundary)
    OFFSET 0) c
ORDER BY c.first_step
"""
_ALL_CHUNKS = """
SELECT c.series, c.is_thinned, c.body
FROM unnest($2::bigint[], $3::date[], $4::bigint[]) AS w(series, day, last_step)
JOIN registry.point_chunks c ON c.series = w.series AND c.day >= w.day AND c.first_step <= w.last_step
WHERE c.day >= $1::date ORDER BY c.first_step
"""
_CORRECT = """
UPDATE registry.series s SET
    count = u.count, finite = u.finite, least = u.least, greatest = u.greatest, total = u.total, last = u.last,
    last_step = u.last_step, first_step = u.first_step
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::float8[], $5::float8[], $6::float8[], $7::float8[], $8::bigint[],
            $9::bigint[]) AS u(id, count, finite, least, greatest, total, last, last_step, first_step)
WHERE s.id = u.id
"""
