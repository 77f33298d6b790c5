"""Summaries of many trials at once, of what counts of their points."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from functools import reduce
from uuid import UUID

from services.registry.core.summary import Summary, merge, summarise_sorted
from services.registry.store.series import Metric, Which, load_curves
from shared.driver import Driver, Row

TRIALS_AT_ONCE = 50
"""So many trials' points are in memory where runs repeated steps."""

Summaries = dict[UUID, dict[Metric, Summary]]
_FIELDS = tuple(field.name for field in fields(Summary))


async def load_summaries_of(driver: Driver, trials: Sequence[UUID], metrics: Sequence[Metric]) -> Summaries:
    """Return the summaries of these metrics, by trial; a trial without points of a metric has none of it."""
    groups, names = _columns(metrics)
    parts: dict[UUID, dict[Metric, list[Summary]]] = defaultdict(lambda: defaultdict(list))
    for row in await driver.fetch(_OF_TRIALS, list(trials), groups, names):
        parts[row["trial"]][row["group"], row["name"]].append(_summary(row))
    found = {trial: {key: reduce(merge, each) for key, each in of.items()} for trial, of in parts.items()}
    repeated = await driver.fetch(_REPEATED_OF_TRIALS, list(trials), groups, names)
    for trial, corrected in (await _from_points(driver, repeated)).items():
        found[trial] |= corrected
    return found


async def load_repeated(driver: Driver, experiment: UUID, metrics: Sequence[Metric]) -> Summaries:
    """Return the summaries of those metrics of an experiment's trials whose later runs reported steps again.

    The summaries of their runs cannot be added up: of a step the newest run's report counts, so the points are read.
    """
    return await _from_points(driver, await driver.fetch(_REPEATED, experiment, *_columns(metrics)))


async def _from_points(driver: Driver, repeated: Sequence[Row]) -> Summaries:
    wanted: dict[UUID, set[Metric]] = defaultdict(set)
    for row in repeated:
        wanted[row["trial"]].add((row["group"], row["name"]))
    trials, found = list(wanted), Summaries()
    for at in range(0, len(trials), TRIALS_AT_ONCE):
        some = trials[at : at + TRIALS_AT_ONCE]
        names = {name for trial in some for _, name in wanted[trial]}
        for curve in await load_curves(driver, some, Which(names=sorted(names))):
            summary = summarise_sorted(curve.steps, curve.values)
            if summary and (curve.group, curve.name) in wanted[curve.trial]:
                found.setdefault(curve.trial, {})[curve.group, curve.name] = summary
    return found


def _summary(row: Row) -> Summary:
    return Summary(**{name: row[name] for name in _FIELDS})


def _columns(metrics: Sequence[Metric]) -> tuple[list[str], list[str]]:
    return [group for group, _ in metrics], [name for _, name in metrics]


_OF_TRIALS = """
SELECT s.*
FROM registry.series s
JOIN unnest($2::text[], $3::text[]) AS m("group", name) ON m."group" = s."group" AND m.name = s.name
JOIN registry.runs r ON r.id = s.run
WHERE s.trial = ANY($1::uuid[]) AND s.count > 0
ORDER BY s.trial, r.number
"""
_OVERLAPPING = """
SELECT DISTINCT trial, "group", name FROM (
    SELECT s.trial, s."group", s.name,
           s.first_step <= max(s.last_step) OVER (
               PARTITION BY s.trial, s."group", s.name ORDER BY r.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS is_repeated
    FROM registry.series s
    JOIN unnest($2::text[], $3::text[]) AS m("group", name) ON m."group" = s."group" AND m.name = s.name
    JOIN registry.runs r ON r.id = s.run
    WHERE s.count > 0 AND s.trial IN ({restarted})
) s WHERE is_repeated
"""
_REPEATED = _OVERLAPPING.format(
    restarted="SELECT trial FROM registry.runs WHERE experiment = $1 AND number > 1"
)
_REPEATED_OF_TRIALS = _OVERLAPPING.format(
    restarted="SELECT trial FROM registry.runs WHERE trial = ANY($1::uuid[]) AND number > 1"
)
