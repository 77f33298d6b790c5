"""Reading metrics: series with what counts of their points, and their summaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from services.registry.core.summary import Summary
from shared.driver import Driver


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
    """Return the series of these trials, by trial, group and name; superseded points are left out."""
    rows = await driver.fetch(_CURVES, list(trials), group, list(names) or None)
    return [
        Curve(
            row["trial"],
            row["group"],
            row["name"],
            np.array(row["steps"], dtype=np.int64),
            np.array(row["times"], dtype=np.int64),
            np.array(row["values"], dtype=np.float64),
            np.array(row["runs"], dtype=np.int64),
        )
        for row in rows
    ]


async def load_summaries(driver: Driver, trial: UUID) -> list[tuple[str, str, Summary]]:
    """Return (group, name, summary) of every series of the trial's runs, oldest run first."""
    rows = await driver.fetch(_SUMMARIES, trial)
    return [
        (
            row["group"],
            row["name"],
            Summary(
                row["count"],
                row["finite"],
                row["least"],
                row["greatest"],
                row["total"],
                row["last"],
                row["last_step"],
            ),
        )
        for row in rows
    ]


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
_SUMMARIES = """
SELECT s.* FROM registry.series s JOIN registry.runs r ON r.id = s.run
WHERE s.trial = $1 AND s.count > 0 ORDER BY r.number, s."group", s.name
"""
