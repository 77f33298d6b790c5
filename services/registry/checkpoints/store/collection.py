"""Queries of collection: ended experiments, their checkpoints with the searcher's metric, and pins."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.checkpoints.core.collect import CollectionCandidate, CollectionPolicy
from services.registry.core.checkpoint import CheckpointStatus
from services.registry.store.tables import (
    checkpoint_files,
    checkpoints,
    experiments,
    runs,
    trials,
    validations,
    versions,
)
from shared.database.statements import among


@dataclass(frozen=True, slots=True)
class CollectableExperiment:
    """An experiment whose checkpoints may be collected."""

    experiment: UUID
    tenant: UUID
    policy: CollectionPolicy
    smaller_is_better: bool
    is_over: bool


async def load_due(
    connection: AsyncConnection, ended_before: datetime, limit: int
) -> list[CollectableExperiment]:
    """Return uncollected experiments that ended before that time and whose checkpoints are all settled."""
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


async def load_experiment(connection: AsyncConnection, experiment: UUID) -> CollectableExperiment | None:
    """Return an experiment of the tenant, ended or not; None if there is none of this id."""
    row = (await connection.execute(_EXPERIMENT.where(experiments.c.id == experiment))).first()
    return _due(row) if row else None


async def save_policy(connection: AsyncConnection, experiment: UUID, policy: CollectionPolicy) -> None:
    """Replace an experiment's retention rule, and have it collected again."""
    await connection.execute(
        update(experiments)
        .where(experiments.c.id == experiment)
        .values(**asdict(policy), is_policy_edited=True, collected_at=None)
    )


async def load_kept(connection: AsyncConnection, experiment: UUID) -> list[CollectionCandidate]:
    """Return the experiment's saved checkpoints, each with the searcher's metric of the validation at its step."""
    at_step = (
        select(validations.c.number, validations.c["values"])
        .where(validations.c.trial == checkpoints.c.trial, validations.c.step == checkpoints.c.step)
        .order_by((validations.c.run == checkpoints.c.run).desc(), validations.c.stored_at.desc())
        .limit(1)
        .lateral("at_step")
    )
    columns = checkpoints.c
    kept = (
        select(
            *(columns.id, columns.trial, columns.token, columns.step),
            at_step.c.number.label("validation"),
            at_step.c["values"][trials.c.metric].astext.label("metric"),
        )
        .select_from(checkpoints.join(trials, trials.c.id == columns.trial).outerjoin(at_step, true()))
        .where(columns.experiment == experiment, columns.state == CheckpointStatus.saved)
    )
    rows = await connection.execute(kept)
    return [
        CollectionCandidate(
            row.id,
            row.trial,
            (row.token, row.step),
            None if row.metric is None else float(row.metric),
            row.validation or 0,
        )
        for row in rows
    ]


async def load_newest(connection: AsyncConnection, wanted: Sequence[UUID]) -> frozenset[UUID]:
    """Return those of the checkpoints that are the newest good one of an open trial, which resumes from it."""
    columns, asked = checkpoints.c, checkpoints.alias("asked")
    newest = (
        select(columns.id)
        .distinct(columns.trial)
        .join(trials, trials.c.id == columns.trial)
        .where(columns.state == CheckpointStatus.saved, trials.c.is_final.is_(False))
        .where(columns.trial.in_(select(asked.c.trial).where(among(asked.c.id, wanted))))
        .order_by(columns.trial, columns.token.desc(), columns.step.desc(), columns.id.desc())
        .subquery()
    )
    return frozenset(await connection.scalars(select(newest.c.id).where(among(newest.c.id, wanted))))


async def load_starts(connection: AsyncConnection, wanted: Sequence[UUID]) -> frozenset[UUID]:
    """Return those of the checkpoints from which an open trial starts."""
    found = await connection.scalars(
        select(trials.c.start_checkpoint).where(
            among(trials.c.start_checkpoint, wanted), trials.c.is_final.is_(False)
        )
    )
    return frozenset(checkpoint for checkpoint in found if checkpoint is not None)


async def load_unwanted(connection: AsyncConnection, experiment: UUID) -> list[UUID]:
    """Return the experiment's abandoned and corrupt checkpoints: their uploaded objects are deleted too."""
    rows = await connection.scalars(
        select(checkpoints.c.id)
        .where(checkpoints.c.experiment == experiment)
        .where(checkpoints.c.state.in_((CheckpointStatus.abandoned, CheckpointStatus.corrupt)))
        .order_by(checkpoints.c.id)
    )
    return list(rows)


@dataclass(frozen=True, slots=True)
class Sized:
    """A checkpoint with its size, for reports."""

    id: UUID
    trial: UUID
    step: int
    size_bytes: int


async def load_sizes(connection: AsyncConnection, wanted: Sequence[UUID]) -> list[Sized]:
    """Return these checkpoints, largest first."""
    columns = checkpoints.c.id, checkpoints.c.trial, checkpoints.c.step, checkpoints.c.size_bytes
    query = select(*columns).where(among(checkpoints.c.id, wanted))
    rows = await connection.execute(query.order_by(checkpoints.c.size_bytes.desc(), checkpoints.c.id))
    return [Sized(*row) for row in rows]


async def load_saved(connection: AsyncConnection, experiment: UUID) -> list[UUID]:
    """Return the experiment's saved checkpoints."""
    saved = select(checkpoints.c.id).where(
        checkpoints.c.experiment == experiment, checkpoints.c.state == CheckpointStatus.saved
    )
    return list(await connection.scalars(saved))


async def load_freed_bytes(connection: AsyncConnection, going: Sequence[UUID]) -> int:
    """Return the stored bytes of these checkpoints that no kept checkpoint shares."""
    files, held = checkpoint_files, checkpoint_files.alias("held")
    mine = (
        select(files.c.key, files.c.size_bytes).where(among(files.c.checkpoint, going)).distinct().subquery()
    )
    is_kept = checkpoints.c.state.not_in((CheckpointStatus.deleting, CheckpointStatus.deleted)) & ~among(
        checkpoints.c.id, going
    )
    is_held = (
        select(held.c.key)
        .join(checkpoints, checkpoints.c.id == held.c.checkpoint)
        .where(held.c.key == mine.c.key, is_kept)
        .exists()
    )
    found = await connection.scalar(select(func.sum(mine.c.size_bytes)).where(~is_held))
    return int(found or 0)


async def save_collected(connection: AsyncConnection, experiment: UUID, now: datetime) -> None:
    """Record that the experiment was collected."""
    await connection.execute(
        update(experiments).where(experiments.c.id == experiment).values(collected_at=now)
    )


async def save_uncollected(connection: AsyncConnection, experiment: UUID) -> None:
    """Have the experiment collected again, because a pin on one of its checkpoints was removed."""
    await connection.execute(
        update(experiments).where(experiments.c.id == experiment).values(collected_at=None)
    )


async def save_settled(connection: AsyncConnection, run: UUID) -> None:
    """Record that the run is settled."""
    await connection.execute(update(runs).where(runs.c.id == run).values(is_settled=True))


def _due(row: Any) -> CollectableExperiment:
    return CollectableExperiment(
        row.id,
        row.tenant,
        CollectionPolicy(row.save_experiment_best, row.save_trial_best, row.save_trial_latest),
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


async def load_registered(connection: AsyncConnection, wanted: list[UUID]) -> frozenset[UUID]:
    """Return those of the checkpoints that a version refers to."""
    rows = await connection.scalars(
        select(versions.c.checkpoint)
        .where(among(versions.c.checkpoint, wanted), versions.c.deleted_at.is_(None))
        .distinct()
    )
    return frozenset(rows)
