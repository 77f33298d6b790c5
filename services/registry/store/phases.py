"""What runs did when, beside the runs: by kind and number, so that what is told again changes nothing."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import orjson

from services.registry.store.checkpoints import OPEN
from shared.driver import Driver
from shared.messages.phases import Phase, RunPhases

MOST = 300
"""A run that has so many tells no more."""


async def save_phases(driver: Driver, run: UUID, phases: Sequence[Phase]) -> None:
    """Keep them beside what is kept of the run."""
    named = {f"{one.kind} {one.number}": one.model_dump(mode="json", exclude_none=True) for one in phases}
    await driver.fetch(_SAVE, run, orjson.dumps(named).decode(), MOST)


async def load_phases(driver: Driver, trials: Sequence[UUID]) -> dict[UUID, list[RunPhases]]:
    """Return the phases of these trials' runs by number of the run, each run's in the order of their beginning; trials without any are left out.

    An upload that waits no more, since its checkpoint was decided on without its worker's word, ended with that decision.
    """
    rows = await driver.fetch(_LOAD, list(trials))
    by_run = {row["id"]: [Phase.model_validate(one) for one in row["phases"].values()] for row in rows}
    waiting = [run for run, phases in by_run.items() if any(one.waits_for for one in phases)]
    decided = await _load_decided(driver, waiting) if waiting else {}
    found: dict[UUID, list[RunPhases]] = defaultdict(list)
    for row in rows:
        phases = [_closed(one, decided.get((row["id"], one.number))) for one in by_run[row["id"]]]
        phases.sort(key=lambda one: one.began_ms)
        found[row["trial"]].append(RunPhases(run_number=row["number"], phases=tuple(phases)))
    return found


async def _load_decided(driver: Driver, runs: Sequence[UUID]) -> dict[tuple[UUID, int], int]:
    """When checkpoints of these runs were decided on, by run and number."""
    rows = await driver.fetch(_LOAD_DECIDED, list(runs), list(OPEN))
    return {(row["run"], row["number"]): int(row["changed_at"].timestamp() * 1000) for row in rows}


def _closed(phase: Phase, decided_ms: int | None) -> Phase:
    if phase.waits_for is None or decided_ms is None:
        return phase
    return phase.model_copy(update={"waits_for": None, "ended_ms": max(phase.began_ms, decided_ms)})


_SAVE = """
UPDATE registry.runs SET phases = coalesce(phases, '{}') || $2::jsonb
WHERE id = $1 AND (SELECT count(*) FROM jsonb_object_keys(coalesce(phases, '{}'))) < $3
"""
_LOAD = """
SELECT id, trial, number, phases FROM registry.runs WHERE trial = ANY($1::uuid[]) AND phases IS NOT NULL ORDER BY trial, number
"""
_LOAD_DECIDED = """
SELECT run, number, changed_at FROM registry.checkpoints WHERE run = ANY($1::uuid[]) AND NOT state = ANY($2::text[])
"""
