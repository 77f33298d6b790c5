"""Phases of runs, stored by kind and number, so that repeated reports change nothing."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, literal, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import OPEN
from services.registry.store.tables import checkpoints, runs
from shared.database.statements import among
from shared.messages.phases import PhaseRecord, RunPhases

MOST = 300
"""Maximum number of phases stored per run."""


async def save_phases(connection: AsyncConnection, run: UUID, phases: Sequence[PhaseRecord]) -> None:
    """Add phases to those stored for the run."""
    named = {f"{one.kind} {one.number}": one.model_dump(mode="json", exclude_none=True) for one in phases}
    known = func.coalesce(runs.c.phases, literal({}, JSONB))
    count = select(func.count()).select_from(func.jsonb_object_keys(known).alias("kinds")).scalar_subquery()
    await connection.execute(
        update(runs).where(runs.c.id == run, count < MOST).values(phases=known.concat(literal(named, JSONB)))
    )


async def load_phases(connection: AsyncConnection, trials: Sequence[UUID]) -> dict[UUID, list[RunPhases]]:
    """Return the phases of these trials' runs by run number, each run's by start; trials without phases are left out.

    An upload of a checkpoint that was decided without its worker no longer waits: it ended with that decision.
    """
    reported = (
        select(runs.c.id, runs.c.trial, runs.c.number, runs.c.phases)
        .where(among(runs.c.trial, trials), runs.c.phases.is_not(None))
        .order_by(runs.c.trial, runs.c.number)
    )
    rows = (await connection.execute(reported)).all()
    by_run = {row.id: [PhaseRecord.model_validate(one) for one in row.phases.values()] for row in rows}
    waiting = [run for run, phases in by_run.items() if any(one.waits_for for one in phases)]
    decided = await _load_decided(connection, waiting) if waiting else {}
    found: dict[UUID, list[RunPhases]] = defaultdict(list)
    for row in rows:
        phases = [_closed(one, decided.get((row.id, one.number))) for one in by_run[row.id]]
        phases.sort(key=lambda one: one.began_ms)
        found[row.trial].append(RunPhases(run_number=row.number, phases=tuple(phases)))
    return found


async def _load_decided(connection: AsyncConnection, wanted: Sequence[UUID]) -> dict[tuple[UUID, int], int]:
    """Return when checkpoints of these runs were decided, by run and number."""
    columns = checkpoints.c
    decided = select(columns.run, columns.number, columns.changed_at).where(
        among(columns.run, wanted), columns.state.not_in(OPEN)
    )
    rows = await connection.execute(decided)
    return {(row.run, row.number): int(row.changed_at.timestamp() * 1000) for row in rows}


def _closed(phase: PhaseRecord, decided_ms: int | None) -> PhaseRecord:
    if phase.waits_for is None or decided_ms is None:
        return phase
    return phase.model_copy(update={"waits_for": None, "ended_ms": max(phase.began_ms, decided_ms)})
