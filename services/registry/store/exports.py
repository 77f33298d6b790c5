"""What an export reads: which trials have how many points, their curves, and where they stand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from services.registry.core.exporting.points import Rows
from services.registry.core.steps import EVERY_STEP, Steps, part_steps
from services.registry.store.series import Curve, Metric, Which, load_curves
from shared.driver import Driver, Row

POINTS_AT_ONCE = 250_000
"""In memory at a time, about: a metric of more is read some steps at a time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read together: trials with their numbers, or of a trial that has too many points for that some steps of one metric."""

    trials: tuple[tuple[UUID, int], ...]
    metric: Metric | None = None
    steps: Steps = EVERY_STEP


async def count_points(
    driver: Driver, experiment: UUID, group: str | None, names: Sequence[str]
) -> tuple[int, int]:
    """Return how many points there are to export, those that later runs repeated counted twice, and the newest of their series: a later run has its own."""
    rows = await driver.fetch(_COUNT, experiment, group, list(names) or None)
    return int(rows[0]["points"]), int(rows[0]["newest"])


async def load_standing(driver: Driver, experiment: UUID) -> tuple[int, ...]:
    """Return numbers that change whenever a trial of the experiment does, or what it has reported."""
    row = (await driver.fetch(_STANDING, experiment))[0]
    return row["trials"], row["changes"], row["points"], row["newest"]


async def plan_pieces(
    driver: Driver, experiment: UUID, group: str | None, names: Sequence[str]
) -> list[Piece]:
    """Return what is read, piece by piece, in the order of trials, groups, names and steps."""
    found: list[Piece] = []
    waiting: list[tuple[UUID, int]] = []
    held = 0
    for row in await driver.fetch(_BY_TRIAL, experiment, group, list(names) or None):
        trial = row["trial"], row["number"]
        if waiting and held + row["points"] > POINTS_AT_ONCE:
            found.append(Piece(tuple(waiting)))
            waiting, held = [], 0
        if row["points"] > POINTS_AT_ONCE:
            for metric, points in sorted(_by_metric(row).items()):
                stretches = [EVERY_STEP]
                if points > POINTS_AT_ONCE:
                    chunks = await driver.fetch(_CHUNKS, row["trial"], *metric)
                    stretches = part_steps(
                        [(one["first_step"], one["count"]) for one in chunks], POINTS_AT_ONCE
                    )
                found.extend(Piece((trial,), metric, steps) for steps in stretches)
        else:
            waiting.append(trial)
            held += row["points"]
    return [*found, Piece(tuple(waiting))] if waiting else found


async def load_rows(driver: Driver, piece: Piece, group: str | None, names: Sequence[str]) -> list[Rows]:
    """Return the current points of a piece, by trial, group, name and step."""
    which = Which(piece.metric[0], (piece.metric[1],)) if piece.metric else Which(group, names)
    trials = [trial for trial, _ in piece.trials]
    curves = await load_curves(driver, trials, which, steps=piece.steps)
    numbers = dict(piece.trials)
    return sorted(
        (_rows(curve, numbers[curve.trial]) for curve in curves),
        key=lambda rows: (rows.trial, rows.group, rows.name),
    )


def _by_metric(row: Row) -> Counter[Metric]:
    """How many points a trial has of each metric, all runs together."""
    found: Counter[Metric] = Counter()
    for group, name, count in zip(row["groups"], row["names"], row["counts"], strict=True):
        found[group, name] += count
    return found


def _rows(curve: Curve, number: int) -> Rows:
    return Rows(number, curve.group, curve.name, curve.runs, curve.steps, curve.times_ms, curve.values)


_WANTED = """
FROM registry.series s
WHERE s.experiment = $1 AND s.count > 0 AND ($2::text IS NULL OR s."group" = $2) AND ($3::text[] IS NULL OR s.name = ANY($3))
"""
_COUNT = f"SELECT coalesce(sum(s.count), 0) AS points, coalesce(max(s.id), 0) AS newest {_WANTED}"
_BY_TRIAL = f"""
SELECT c.trial, t.number, c.points, c.groups, c.names, c.counts
FROM (
    SELECT s.trial, sum(s.count)::bigint AS points, array_agg(s."group") AS groups, array_agg(s.name) AS names,
           array_agg(s.count) AS counts
    {_WANTED} GROUP BY s.trial
) c
JOIN registry.trials t ON t.id = c.trial AND t.number IS NOT NULL
ORDER BY t.number
"""
_STANDING = """
SELECT count(*) AS trials, coalesce(sum(t.wanted_version + t.changed_version), 0)::bigint AS changes,
       (SELECT coalesce(sum(count), 0)::bigint FROM registry.series WHERE experiment = $1) AS points,
       (SELECT coalesce(max(id), 0) FROM registry.series WHERE experiment = $1) AS newest
FROM registry.trials t WHERE t.experiment = $1
"""
_CHUNKS = """
SELECT c.first_step, c.count FROM registry.series s
JOIN registry.runs r ON r.id = s.run
JOIN registry.point_chunks c ON c.series = s.id AND c.day >= r.first_day
WHERE s.trial = $1 AND s."group" = $2 AND s.name = $3
ORDER BY c.first_step
"""
