"""Reading metrics: series with what counts of their points, and their summaries."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from services.registry.core.summary import Summary, merge, summarise
from services.registry.core.supersede import choose_newest, is_repeated
from shared.driver import Driver, Row

Metric = tuple[str, str]
"""Group and name."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A series' current points by step, across the runs of its trial; four columns of one length."""

    trial: UUID
    group: str
    name: str
    steps: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    values: NDArray[np.float64]
    runs: NDArray[np.int64]


async def load_curves(
    driver: Driver, trials: Sequence[UUID], group: str | None, names: Sequence[str]
) -> list[Curve]:
    """Return the series of these trials, by trial, group and name, without superseded points: of a step, the newest run's report."""
    rows = await driver.fetch(_CURVES, list(trials), group, list(names) or None)
    return [_curve(row) for row in rows]


async def load_summaries(driver: Driver, trial: UUID) -> dict[Metric, Summary]:
    """Return the summary of every metric of the trial, of the points that `load_curves` gives.

    Those of its runs are put together. Where a later run reported a step again they overlap, and the points are read.
    """
    by_metric: dict[Metric, list[Row]] = defaultdict(list)
    for row in await driver.fetch(_SUMMARIES, trial):
        by_metric[row["group"], row["name"]].append(row)
    several = [row["id"] for rows in by_metric.values() if len(rows) > 1 for row in rows]
    first = {row["id"]: row["first"] for row in await driver.fetch(_FIRST_STEPS, several)} if several else {}
    found = {metric: reduce(merge, map(_summary, rows)) for metric, rows in by_metric.items()}
    repeated = {
        metric
        for metric, rows in by_metric.items()
        if len(rows) > 1 and is_repeated([(first[row["id"]], row["last_step"]) for row in rows])
    }
    if repeated:
        for curve in await load_curves(driver, [trial], None, [name for _, name in repeated]):
            summary = summarise(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
            if summary and (curve.group, curve.name) in repeated:
                found[curve.group, curve.name] = summary
    return found


def _curve(row: Row) -> Curve:
    steps, runs = np.array(row["steps"], dtype=np.int64), np.array(row["runs"], dtype=np.int64)
    chosen = choose_newest(steps, runs)
    return Curve(
        row["trial"],
        row["group"],
        row["name"],
        steps[chosen],
        np.array(row["times"], dtype=np.int64)[chosen],
        np.array(row["values"], dtype=np.float64)[chosen],
        runs[chosen],
    )


def _summary(row: Row) -> Summary:
    return Summary(
        row["count"],
        row["finite"],
        row["least"],
        row["greatest"],
        row["total"],
        row["last"],
        row["last_step"],
    )


_CURVES = """
SELECT s.trial, s."group", s.name,
       array_agg(p.step ORDER BY p.step, r.number, p.seq) AS steps,
       array_agg(p.time_ms ORDER BY p.step, r.number, p.seq) AS times,
       array_agg(p.value ORDER BY p.step, r.number, p.seq) AS values,
       array_agg(r.number ORDER BY p.step, r.number, p.seq) AS runs
FROM registry.series s
JOIN registry.runs r ON r.id = s.run
JOIN registry.points p
    ON p.series = s.id AND p.day >= r.first_day AND (r.superseded_after IS NULL OR p.step <= r.superseded_after)
WHERE s.trial = ANY($1::uuid[]) AND ($2::text IS NULL OR s."group" = $2) AND ($3::text[] IS NULL OR s.name = ANY($3))
GROUP BY s.trial, s."group", s.name
ORDER BY s.trial, s."group", s.name
"""
_FIRST_STEPS = """
SELECT s.id, (SELECT min(p.step) FROM registry.points p WHERE p.series = s.id AND p.day >= r.first_day) AS first
FROM registry.series s JOIN registry.runs r ON r.id = s.run
WHERE s.id = ANY($1::bigint[])
"""
_SUMMARIES = """
SELECT s.* FROM registry.series s JOIN registry.runs r ON r.id = s.run
WHERE s.trial = $1 AND s.count > 0 ORDER BY r.number, s."group", s.name
"""
