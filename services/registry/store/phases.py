"""What runs did when, beside the runs: by kind and number, so that what is told again changes nothing."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import orjson

from shared.driver import Driver
from shared.messages.phases import Phase, RunPhases

MOST = 300
"""A run that has so many tells no more."""


async def save_phases(driver: Driver, run: UUID, phases: Sequence[Phase]) -> None:
    """Keep them beside what is kept of the run."""
    named = {f"{one.kind} {one.number}": one.model_dump(mode="json") for one in phases}
    await driver.fetch(_SAVE, run, orjson.dumps(named).decode(), MOST)


async def load_phases(driver: Driver, trials: Sequence[UUID]) -> dict[UUID, list[RunPhases]]:
    """Return the phases of these trials' runs by number of the run, each run's in the order of their beginning; trials without any are left out."""
    found: dict[UUID, list[RunPhases]] = defaultdict(list)
    for row in await driver.fetch(_LOAD, list(trials)):
        phases = sorted(map(Phase.model_validate, row["phases"].values()), key=lambda one: one.began_ms)
        found[row["trial"]].append(RunPhases(run_number=row["number"], phases=tuple(phases)))
    return found


_SAVE = """
UPDATE registry.runs SET phases = coalesce(phases, '{}') || $2::jsonb
WHERE id = $1 AND (SELECT count(*) FROM jsonb_object_keys(coalesce(phases, '{}'))) < $3
"""
_LOAD = """
SELECT trial, number, phases FROM registry.runs WHERE trial = ANY($1::uuid[]) AND phases IS NOT NULL ORDER BY trial, number
"""
