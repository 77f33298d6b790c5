"""What searcher and scheduler last said of experiments, trials and runs. Hot: each statement is one text, run beneath SQLAlchemy."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from shared.driver import Driver
from shared.messages.experiments import ExperimentChanged, TrialChanged
from shared.messages.queue import RequestRanked
from shared.messages.runs import RunState


async def apply_experiment(connection: AsyncConnection, changed: ExperimentChanged) -> bool:
    """Takes over a newer version; False for one already known."""
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
    return bool(applied)


async def apply_rank(connection: AsyncConnection, ranked: RequestRanked) -> bool:
    """Takes over a newer version; False for one already known."""
    rank = ranked.to_bytes().decode()
    return bool(await Driver.of(connection).fetch(_RANK, ranked.experiment_id, ranked.version, rank))


async def apply_trial(connection: AsyncConnection, tenant: UUID, changed: TrialChanged) -> bool:
    """Takes over a newer version; False for one already known."""
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
    return bool(applied)


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
UPDATE gateway.experiment SET version = $2, state = $3, reason = $4, progress = $5, best = $6, trials = $7,
    priority = $8, archived = $9, final = $10, started_at = $11, ended_at = $12, terms = $13, budget = $14
WHERE id = $1 AND version < $2
RETURNING id
"""
_RANK = """
UPDATE gateway.experiment SET rank_version = $2, rank = $3 WHERE id = $1 AND rank_version < $2 RETURNING id
"""
_TRIAL = """
INSERT INTO gateway.trial AS known (tenant, id, experiment, number, version, state, best_value, changed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state,
    best_value = excluded.best_value, changed = excluded.changed
WHERE known.version < excluded.version
RETURNING id
"""
_RUN = """
INSERT INTO gateway.run AS known (tenant, id, trial, number, version, state, changed)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state, changed = excluded.changed
WHERE known.version < excluded.version
RETURNING id
"""
