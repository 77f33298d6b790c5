"""What collection needs to see: experiments that are over, their checkpoints with the searcher's metric, and pins."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import State
from services.registry.core.collect import Kept, Policy
from services.registry.store.among import among
from services.registry.store.tables import checkpoints, experiments, runs, trials


@dataclass(frozen=True, slots=True)
class Due:
    """An experiment whose checkpoints may be collected."""

    experiment: UUID
    tenant: UUID
    policy: Policy
    smaller_is_better: bool
    is_over: bool


async def load_due(connection: AsyncConnection, ended_before: datetime, limit: int) -> list[Due]:
    """Return experiments that ended before that time, whose checkpoints are all settled, and that are not collected."""
    unsettled = (
        select(runs.c.id)
        .where(runs.c.experiment == experiments.c.id, runs.c.is_settled.is_(False))
        .correlate(experiments)
        .exists()
    )
    open_trials = (
        select(trials.c.id)
        .where(trials.c.experiment == experiments.c.id, trials.c.is_final.is_(False))
        .correlate(experiments)
        .exists()
    )
    rows = await connection.execute(
        _EXPERIMENT.where(experiments.c.is_final, experiments.c.collected_at.is_(None))
        .where(experiments.c.final_at <= ended_before, ~unsettled, ~open_trials)
        .order_by(experiments.c.final_at)
        .limit(limit)
    )
    return [_due(row) for row in rows]


async def load_experiment(connection: AsyncConnection, experiment: UUID) -> Due | None:
    """Return an experiment of the tenant's, over or not; None when it has none of that id."""
    row = (await connection.execute(_EXPERIMENT.where(experiments.c.id == experiment))).first()
    return _due(row) if row else None


async def save_policy(connection: AsyncConnection, experiment: UUID, policy: Policy) -> None:
    """Set an experiment's rule in place of what its config says; it is collected anew by it."""
    await connection.execute(
        update(experiments)
        .where(experiments.c.id == experiment)
        .values(**asdict(policy), is_policy_edited=True, collected_at=None)
    )


async def load_kept(connection: AsyncConnection, experiment: UUID) -> list[Kept]:
    """Return the experiment's saved checkpoints, each with the searcher's metric of the validation at its step."""
    rows = await connection.execute(_KEPT, {"experiment": experiment})
    return [
        Kept(
            row.id,
            row.trial,
            (row.token, row.step),
            None if row.metric is None else float(row.metric),
            row.validation or 0,
        )
        for row in rows
    ]


async def load_newest(connection: AsyncConnection, wanted: Sequence[UUID]) -> frozenset[UUID]:
    """Return those of the checkpoints that are the newest good one of a trial that is not over: it goes on from there."""
    return frozenset(await connection.scalars(_NEWEST, {"wanted": list(wanted)}))


async def load_starts(connection: AsyncConnection, wanted: Sequence[UUID]) -> frozenset[UUID]:
    """Return those of the checkpoints from which an open trial starts."""
    found = await connection.scalars(
        select(trials.c.start_checkpoint).where(
            among(trials.c.start_checkpoint, wanted), trials.c.is_final.is_(False)
        )
    )
    return frozenset(checkpoint for checkpoint in found if checkpoint is not None)


async def load_unwanted(connection: AsyncConnection, experiment: UUID) -> list[UUID]:
    """Return the experiment's checkpoints that were given up: whatever of them reached the store goes too."""
    rows = await connection.scalars(
        select(checkpoints.c.id)
        .where(checkpoints.c.experiment == experiment)
        .where(checkpoints.c.state.in_((State.abandoned, State.corrupt)))
        .order_by(checkpoints.c.id)
    )
    return list(rows)


@dataclass(frozen=True, slots=True)
class Sized:
    """A checkpoint, as far as a report names it."""

    id: UUID
    trial: UUID
    step: int
    size_bytes: int


async def load_sizes(connection: AsyncConnection, wanted: Sequence[UUID]) -> list[Sized]:
    """Return these checkpoints, the largest first."""
    columns = checkpoints.c.id, checkpoints.c.trial, checkpoints.c.step, checkpoints.c.size_bytes
    query = select(*columns).where(among(checkpoints.c.id, wanted))
    rows = await connection.execute(query.order_by(checkpoints.c.size_bytes.desc(), checkpoints.c.id))
    return [Sized(*row) for row in rows]


async def load_saved(connection: AsyncConnection, experiment: UUID) -> list[UUID]:
    """Return the experiment's saved checkpoints."""
    saved = select(checkpoints.c.id).where(
        checkpoints.c.experiment == experiment, checkpoints.c.state == State.saved
    )
    return list(await connection.scalars(saved))


async def load_freed_bytes(connection: AsyncConnection, going: Sequence[UUID]) -> int:
    """Return what the store holds for these checkpoints and for no other that stays: a tenant's checkpoints share equal files."""
    found = await connection.scalar(_FREED, {"going": list(going)})
    return int(found or 0)


async def save_collected(connection: AsyncConnection, experiment: UUID, now: datetime) -> None:
    """Remember that the experiment was collected."""
    await connection.execute(
        update(experiments).where(experiments.c.id == experiment).values(collected_at=now)
    )


async def save_uncollected(connection: AsyncConnection, experiment: UUID) -> None:
    """Have the experiment looked at again: something that held a checkpoint of it is gone."""
    await connection.execute(
        update(experiments).where(experiments.c.id == experiment).values(collected_at=None)
    )


async def save_settled(connection: AsyncConnection, run: UUID) -> None:
    """Remember that nothing of the run is awaited any more."""
    await connection.execute(update(runs).where(runs.c.id == run).values(is_settled=True))


def _due(row: Any) -> Due:
    return Due(
        row.id,
        row.tenant,
        Policy(row.save_experiment_best, row.save_trial_best, row.save_trial_latest),
        row.sign is not False,
        row.is_final,
    )


_EXPERIMENT = select(
    experiments,
    select(func.bool_and(trials.c.smaller_is_better))
    .where(trials.c.experiment == experiments.c.id)
    .correlate(experiments)
    .scalar_subquery()
    .label("sign"),
)
_NEWEST = text(
    """
    SELECT newest.id FROM (
        SELECT DISTINCT ON (c.trial) c.id FROM registry.checkpoints c JOIN registry.trials t ON t.id = c.trial
        WHERE c.state = 'saved' AND NOT t.is_final AND c.trial IN (
            SELECT trial FROM registry.checkpoints WHERE id = ANY(CAST(:wanted AS uuid[])))
        ORDER BY c.trial, c.token DESC, c.step DESC, c.id DESC
    ) newest
    WHERE newest.id = ANY(CAST(:wanted AS uuid[]))
    """
)
_FREED = text(
    """
    SELECT sum(mine.size_bytes) FROM (
        SELECT DISTINCT key, size_bytes FROM registry.checkpoint_files WHERE checkpoint = ANY(CAST(:going AS uuid[]))
    ) mine
    WHERE NOT EXISTS (
        SELECT 1 FROM registry.checkpoint_files f JOIN registry.checkpoints c ON c.id = f.checkpoint
        WHERE f.key = mine.key AND c.state NOT IN ('deleting', 'deleted') AND c.id <> ALL(CAST(:going AS uuid[]))
    )
    """
)
_KEPT = text(
    """
    SELECT c.id, c.trial, c.token, c.step, v.number AS validation, v.values ->> t.metric AS metric
    FROM registry.checkpoints c
    JOIN registry.trials t ON t.id = c.trial
    LEFT JOIN LATERAL (
        SELECT number, values FROM registry.validations v
        WHERE v.trial = c.trial AND v.step = c.step ORDER BY v.run = c.run DESC, v.stored_at DESC LIMIT 1
    ) v ON true
    WHERE c.experiment = :experiment AND c.state = 'saved'
    """
)
