"""What searcher and scheduler last said of experiments, trials and runs. Hot: each statement is one text, run beneath SQLAlchemy."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from shared.driver import Driver
from shared.messages.experiments import ExperimentChanged, TrialChanged
from shared.messages.queue import RequestRanked
from shared.messages.runs import RunState


@dataclass(frozen=True, slots=True)
class Applied:
    """A newer version was taken over; `before` is the state that was known, None for what was not."""

    before: str | None


async def apply_experiment(connection: AsyncConnection, changed: ExperimentChanged) -> Applied | None:
    """Takes over a newer version; None for one already known."""
    applied = await Driver.of(connection).fetch(
        _EXPERIMENT,
        changed.experiment_id,
        changed.version,
        changed.state,
        changed.reason,
        changed.progress,
        changed.best.model_dump_json() if changed.best else None,
        changed.trials.model_dump_json(),
        changed.priority,
        changed.archived,
        changed.final,
        changed.started_at,
        changed.ended_at,
        changed.terms.model_dump_json() if changed.terms else None,
        changed.budget.model_dump_json() if changed.budget else None,
    )
    return Applied(applied[0]["before"]) if applied else None


async def apply_rank(connection: AsyncConnection, ranked: RequestRanked) -> bool:
    """Takes over a newer version; False for one already known."""
    rank = ranked.to_bytes().decode()
    return bool(await Driver.of(connection).fetch(_RANK, ranked.experiment_id, ranked.version, rank))


async def apply_trial(connection: AsyncConnection, tenant: UUID, changed: TrialChanged) -> Applied | None:
    """Takes over a newer version; None for one already known."""
    applied = await Driver.of(connection).fetch(
        _TRIAL,
        tenant,
        changed.trial_id,
        changed.experiment_id,
        changed.number,
        changed.version,
        changed.state,
        changed.best.value if changed.best else None,
        changed.to_bytes().decode(),
    )
    return Applied(applied[0]["before"]) if applied else None


async def apply_run(connection: AsyncConnection, tenant: UUID, changed: RunState, state: str) -> bool:
    """Takes over a newer version; False for one already known."""
    applied = await Driver.of(connection).fetch(
        _RUN,
        tenant,
        changed.run_id,
        changed.trial_id,
        changed.number,
        changed.version,
        state,
        changed.to_bytes().decode(),
    )
    return bool(applied)


_EXPERIMENT = """
WITH known AS (SELECT state FROM gateway.experiment WHERE id = $1)
UPDATE gateway.experiment SET version = $2, state = $3, reason = $4, progress = $5, best = $6, trials = $7,
    priority = $8, archived = $9, final = $10, started_at = $11, ended_at = $12, terms = $13, budget = $14
WHERE id = $1 AND version < $2
RETURNING (SELECT state FROM known) AS before
"""
_RANK = """
UPDATE gateway.experiment SET rank_version = $2, rank = $3 WHERE id = $1 AND rank_version < $2 RETURNING id
"""
_TRIAL = """
WITH was AS (SELECT state FROM gateway.trial WHERE id = $2)
INSERT INTO gateway.trial AS known (tenant, id, experiment, number, version, state, best_value, changed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state,
    best_value = excluded.best_value, changed = excluded.changed
WHERE known.version < excluded.version
RETURNING (SELECT state FROM was) AS before
"""
_RUN = """
INSERT INTO gateway.run AS known (tenant, id, trial, number, version, state, changed)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state, changed = excluded.changed
WHERE known.version < excluded.version
RETURNING id
"""
