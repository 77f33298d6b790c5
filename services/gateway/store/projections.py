"""What searcher and scheduler last said of experiments, trials and runs: one statement for whatever number of them, run beneath SQLAlchemy.

Whoever projects holds the tenant's lock of the feed (`events.feed_lock`), so that what a statement finds known is what its changes are compared with.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.core.versions import Applied, V, Versioned, newest_of, taken_over
from shared.driver import Driver, Row
from shared.messages.experiments import ExperimentChanged, TrialChanged
from shared.messages.queue import RequestRanked
from shared.messages.runs import RunState


async def apply_experiments(
    connection: AsyncConnection, batch: Sequence[ExperimentChanged]
) -> list[Applied[ExperimentChanged]]:
    """Takes over what is newer than what is known; in the order of the batch. Of experiments that are not here nothing is."""
    newest = newest_of((one.experiment_id, one) for one in batch)
    known = await Driver.of(connection).fetch(
        _EXPERIMENTS,
        list(newest),
        [one.version for one in newest.values()],
        [one.state for one in newest.values()],
        [one.reason for one in newest.values()],
        [one.progress for one in newest.values()],
        [_json(one.best) for one in newest.values()],
        [_json(one.trials) for one in newest.values()],
        [one.priority for one in newest.values()],
        [one.archived for one in newest.values()],
        [one.final for one in newest.values()],
        [one.started_at for one in newest.values()],
        [one.ended_at for one in newest.values()],
        [_json(one.terms) for one in newest.values()],
        [_json(one.budget) for one in newest.values()],
    )
    return _of_here(_standing(known), [(one.experiment_id, one.state, one) for one in batch])


async def apply_ranks(
    connection: AsyncConnection, batch: Sequence[RequestRanked]
) -> list[Applied[RequestRanked]]:
    """The same of what experiments have in the queue."""
    newest = newest_of((one.experiment_id, one) for one in batch)
    known = await Driver.of(connection).fetch(
        _RANKS, list(newest), [one.version for one in newest.values()], _whole(newest.values())
    )
    return _of_here(_standing(known), [(one.experiment_id, "", one) for one in batch])


async def apply_trials(
    connection: AsyncConnection, tenant: UUID, batch: Sequence[TrialChanged]
) -> list[Applied[TrialChanged]]:
    """The same of trials; one that is not known is made so."""
    newest = newest_of((one.trial_id, one) for one in batch)
    known = await Driver.of(connection).fetch(
        _TRIALS,
        tenant,
        list(newest),
        [one.experiment_id for one in newest.values()],
        [one.number for one in newest.values()],
        [one.version for one in newest.values()],
        [one.state for one in newest.values()],
        [one.best.value if one.best else None for one in newest.values()],
        _whole(newest.values()),
    )
    return list(taken_over(_standing(known), [(one.trial_id, one.state, one) for one in batch]))


async def apply_runs(
    connection: AsyncConnection, tenant: UUID, batch: Sequence[RunState], state: str
) -> list[Applied[RunState]]:
    """The same of runs, all of which are in `state` now."""
    newest = newest_of((one.run_id, one) for one in batch)
    known = await Driver.of(connection).fetch(
        _RUNS,
        tenant,
        list(newest),
        [one.trial_id for one in newest.values()],
        [one.number for one in newest.values()],
        [one.version for one in newest.values()],
        state,
        _whole(newest.values()),
    )
    return list(taken_over(_standing(known), [(one.run_id, state, one) for one in batch]))


def _of_here(
    standing: Mapping[UUID, tuple[int, str]], told: Iterable[tuple[UUID, str, V]]
) -> list[Applied[V]]:
    return list(taken_over(standing, (one for one in told if one[0] in standing)))


def _standing(known: Sequence[Row]) -> dict[UUID, tuple[int, str]]:
    return {row["id"]: (row["version"], row["state"]) for row in known}


def _json(part: BaseModel | None) -> str | None:
    return part.model_dump_json() if part is not None else None


def _whole(messages: Iterable[Versioned]) -> list[str]:
    return [message.to_bytes().decode() for message in messages]


_EXPERIMENTS = """
WITH written AS (
    UPDATE gateway.experiment AS known SET version = given.version, state = given.state, reason = given.reason,
        progress = given.progress, best = given.best::json, trials = given.trials::json, priority = given.priority,
        archived = given.archived, final = given.final, started_at = given.started_at, ended_at = given.ended_at,
        terms = given.terms::json, budget = given.budget::json
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::float8[], $6::text[], $7::text[], $8::int[], $9::bool[],
        $10::bool[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[])
        AS given (id, version, state, reason, progress, best, trials, priority, archived, final, started_at, ended_at, terms, budget)
    WHERE known.id = given.id AND known.version < given.version
)
SELECT id, version, state FROM gateway.experiment WHERE id = ANY($1)
"""
_RANKS = """
WITH written AS (
    UPDATE gateway.experiment AS known SET rank_version = given.version, rank = given.rank::json
    FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS given (id, version, rank)
    WHERE known.id = given.id AND known.rank_version < given.version
)
SELECT id, rank_version AS version, '' AS state FROM gateway.experiment WHERE id = ANY($1)
"""
_TRIALS = """
WITH written AS (
    INSERT INTO gateway.trial AS known (tenant, id, experiment, number, version, state, best_value, changed)
    SELECT $1::uuid, id, experiment, number, version, state, best_value, changed::json
    FROM unnest($2::uuid[], $3::uuid[], $4::int[], $5::bigint[], $6::text[], $7::float8[], $8::text[])
        AS given (id, experiment, number, version, state, best_value, changed)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state,
        best_value = excluded.best_value, changed = excluded.changed
    WHERE known.version < excluded.version
)
SELECT id, version, state FROM gateway.trial WHERE id = ANY($2)
"""
_RUNS = """
WITH written AS (
    INSERT INTO gateway.run AS known (tenant, id, trial, number, version, state, changed)
    SELECT $1::uuid, id, trial, number, version, $6::text, changed::json
    FROM unnest($2::uuid[], $3::uuid[], $4::int[], $5::bigint[], $7::text[]) AS given (id, trial, number, version, changed)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state, changed = excluded.changed
    WHERE known.version < excluded.version
)
SELECT id, version, state FROM gateway.run WHERE id = ANY($2)
"""
