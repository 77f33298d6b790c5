"""What an export reads: which trials have how many points, and their curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from services.registry.core.exporting import Rows
from services.registry.store.series import Curve, load_curves
from shared.driver import Driver

POINTS_AT_ONCE = 250_000
"""More than one metric is in memory up to so many points; each metric of a trial is read whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """Trials that are read together, by number; `metric` where one trial alone has too many points for all its metrics."""

    trials: tuple[tuple[UUID, int], ...]
    metric: tuple[str, str] | None = None


async def count_points(
    driver: Driver, experiment: UUID, group: str | None, names: Sequence[str]
) -> tuple[int, int]:
    """Return how many points there are to export, those that later runs repeated counted twice, and the newest of their series: a later run has its own."""
    rows = await driver.fetch(_COUNT, experiment, group, list(names) or None)
    return int(rows[0]["points"]), int(rows[0]["newest"])


async def plan_sources(
    driver: Driver, experiment: UUID, group: str | None, names: Sequence[str]
) -> list[Source]:
    """Return what is read, piece by piece, in the order of trials, groups and names."""
    found: list[Source] = []
    waiting: list[tuple[UUID, int]] = []
    held = 0
    for row in await driver.fetch(_BY_TRIAL, experiment, group, list(names) or None):
        trial = row["trial"], row["number"]
        if waiting and held + row["points"] > POINTS_AT_ONCE:
            found.append(Source(tuple(waiting)))
            waiting, held = [], 0
        if row["points"] > POINTS_AT_ONCE:
            metrics = sorted(set(zip(row["groups"], row["names"], strict=True)))
            found.extend(Source((trial,), metric) for metric in metrics)
        else:
            waiting.append(trial)
            held += row["points"]
    return [*found, Source(tuple(waiting))] if waiting else found


async def load_rows(driver: Driver, source: Source, group: str | None, names: Sequence[str]) -> list[Rows]:
    """Return the current points of a piece, by trial, group, name and step."""
    wanted = (source.metric[0], (source.metric[1],)) if source.metric else (group, names)
    curves = await load_curves(driver, [trial for trial, _ in source.trials], *wanted)
    numbers = dict(source.trials)
    return sorted(
        (_rows(curve, numbers[curve.trial]) for curve in curves),
        key=lambda rows: (rows.trial, rows.group, rows.name),
    )


def _rows(curve: Curve, number: int) -> Rows:
    return Rows(number, curve.group, curve.name, curve.runs, curve.steps, curve.times_ms, curve.values)


_WANTED = """
FROM registry.series s
WHERE s.experiment = $1 AND s.count > 0 AND ($2::text IS NULL OR s."group" = $2) AND ($3::text[] IS NULL OR s.name = ANY($3))
"""
_COUNT = f"SELECT coalesce(sum(s.count), 0) AS points, coalesce(max(s.id), 0) AS newest {_WANTED}"
_BY_TRIAL = f"""
SELECT c.trial, t.number, c.points, c.groups, c.names
FROM (
    SELECT s.trial, sum(s.count)::bigint AS points, array_agg(s."group") AS groups, array_agg(s.name) AS names
    {_WANTED} GROUP BY s.trial
) c
JOIN registry.trials t ON t.id = c.trial AND t.number IS NOT NULL
ORDER BY t.number
"""
