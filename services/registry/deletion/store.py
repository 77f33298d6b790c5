"""Statements that delete the rows of an experiment, a workspace or a tenant. `registry_deletion` runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, delete, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import CheckpointStatus
from services.registry.store.report_tables import (
    log_chunks,
    log_objects,
    log_positions,
    media,
    media_packs,
    point_chunks,
)
from services.registry.store.storage_tables import workspace_objects, workspace_storage
from services.registry.store.tables import (
    checkpoint_files,
    checkpoints,
    consumers,
    experiments,
    images,
    models,
    objects,
    report_cursors,
    retention,
    runs,
    series,
    trials,
    validations,
    versions,
)
from shared.bus.data_deletion import DeleteStatement, outbox_of, rows_of

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Registered:
    """A version of a checkpoint to be deleted."""

    id: UUID
    model: UUID
    number: int
    name: str


async def lock_experiment(connection: AsyncConnection, experiment: UUID) -> int | None:
    """Lock the experiment until the end of the transaction, so that none of its checkpoints is registered; return its number, None if it is unknown."""
    query = select(experiments.c.number).where(experiments.c.id == experiment)
    number: int | None = await connection.scalar(query.with_for_update())
    return number


async def load_registered(connection: AsyncConnection, experiment: UUID) -> list[Registered]:
    """Return the versions of its checkpoints that are not deleted."""
    registered = (
        select(versions.c.id, versions.c.model, versions.c.number, models.c.name)
        .join(checkpoints, checkpoints.c.id == versions.c.checkpoint)
        .join(models, models.c.id == versions.c.model)
        .where(checkpoints.c.experiment == experiment, versions.c.deleted_at.is_(None))
        .order_by(models.c.name, versions.c.number)
    )
    return [Registered(*row) for row in await connection.execute(registered)]


async def load_users(connection: AsyncConnection, experiment: UUID) -> list[int]:
    """Return the numbers of other experiments with open trials that start from its checkpoints."""
    users = (
        select(experiments.c.number)
        .distinct()
        .join(trials, trials.c.experiment == experiments.c.id)
        .join(checkpoints, checkpoints.c.id == trials.c.start_checkpoint)
        .where(checkpoints.c.experiment == experiment, experiments.c.id != experiment)
        .where(trials.c.is_final.is_(False))
        .order_by(experiments.c.number)
    )
    return list(await connection.scalars(users))


async def load_left(connection: AsyncConnection, experiment: UUID) -> list[UUID]:
    """Return some of its checkpoints that are not marked for deletion yet."""
    left = select(checkpoints.c.id).where(
        checkpoints.c.experiment == experiment,
        checkpoints.c.state.not_in((CheckpointStatus.deleting, CheckpointStatus.deleted)),
    )
    return list(await connection.scalars(left.order_by(checkpoints.c.id).limit(AT_ONCE)))


async def load_released(connection: AsyncConnection, experiment: UUID) -> list[str]:
    """Return keys of objects that only its deleted checkpoints referenced."""
    released = (
        select(objects.c.key)
        .distinct()
        .join(checkpoint_files, checkpoint_files.c.key == objects.c.key)
        .join(checkpoints, checkpoints.c.id == checkpoint_files.c.checkpoint)
        .where(checkpoints.c.experiment == experiment, objects.c.unused_since.is_not(None))
        .limit(AT_ONCE)
    )
    return list(await connection.scalars(released))


async def mark_packs_deleting(connection: AsyncConnection, experiment: UUID) -> bool:
    """Mark its media and stored log lines for deletion; True while some exist."""
    state = media_packs.c.state
    packs = (
        update(media_packs)
        .where(media_packs.c.experiment == experiment, state.in_(("stored", "uploading")))
        .values(state=case((state == "stored", "deleting"), else_="abandoned"))
        .cte("packs")
    )
    of_experiment = log_objects.c.trial.in_(select(trials.c.id).where(trials.c.experiment == experiment))
    lines = (
        update(log_objects)
        .where(of_experiment, log_objects.c.state != "deleting")
        .values(state="deleting")
        .cte("lines")
    )
    is_left = or_(
        select(media_packs.c.id).where(media_packs.c.experiment == experiment).exists(),
        select(log_objects.c.id).where(of_experiment).exists(),
    )
    return bool(await connection.scalar(select(is_left).add_cte(packs, lines)))


def experiment_rows(experiment: UUID) -> Sequence[DeleteStatement]:
    """Delete an experiment's rows. Marks come first: this waits for a batch being stored, and none can follow."""
    of_trials = select(trials.c.id).where(trials.c.experiment == experiment)
    of_checkpoints = select(checkpoints.c.id).where(checkpoints.c.experiment == experiment)
    of_runs = select(runs.c.id).where(runs.c.experiment == experiment)
    return (
        rows_of(report_cursors, report_cursors.c.run.in_(of_runs)),
        _series_of(series.c.experiment == experiment),
        rows_of(validations, validations.c.trial.in_(of_trials)),
        _lines_of(log_positions.c.trial.in_(of_trials)),
        rows_of(log_positions, log_positions.c.trial.in_(of_trials)),
        rows_of(media, media.c.trial.in_(of_trials)),
        rows_of(checkpoint_files, checkpoint_files.c.checkpoint.in_(of_checkpoints)),
        *outbox_of("registry", ["checkpoint"], of_checkpoints),
        rows_of(checkpoints, checkpoints.c.experiment == experiment),
        rows_of(runs, runs.c.experiment == experiment),
        rows_of(trials, trials.c.experiment == experiment),
        # After the trials: a run that resolves its image holds the lock of its trial.
        rows_of(images, images.c.experiment == experiment),
        rows_of(experiments, experiments.c.id == experiment),
    )


def workspace_rows(tenant: UUID, workspace: str) -> Sequence[DeleteStatement]:
    """Delete a workspace's own rows: its models and its retention rules."""
    of_models = select(models.c.id).where(models.c.tenant == tenant, models.c.workspace == workspace)
    of_versions = select(versions.c.id).where(versions.c.model.in_(of_models))
    return (
        rows_of(consumers, consumers.c.version.in_(of_versions)),
        *outbox_of("registry", ["version"], of_versions),
        rows_of(versions, versions.c.model.in_(of_models)),
        *outbox_of("registry", ["model"], of_models),
        *(
            rows_of(table, and_(table.c.tenant == tenant, table.c.workspace == workspace))
            for table in (models, retention, workspace_storage, workspace_objects)
        ),
    )


def tenant_rows(tenant: UUID) -> Sequence[DeleteStatement]:
    """Delete a tenant's rows in partitioned tables; `shared.bus.data_deletion` handles all other tables."""
    return (
        rows_of(report_cursors, report_cursors.c.tenant == tenant),
        _series_of(series.c.tenant == tenant),
        _lines_of(log_positions.c.tenant == tenant),
    )


# `ctid` does not identify a row of a partitioned table: its rows are deleted by their owner, in batches.
def _series_of(where: ColumnElement[bool]) -> DeleteStatement:
    few = select(series.c.id).where(where).limit(200).cte("few")
    chunks = delete(point_chunks).where(point_chunks.c.series == few.c.id).cte("chunks")
    return delete(series).where(series.c.id == few.c.id).add_cte(chunks)


def _lines_of(where: ColumnElement[bool]) -> DeleteStatement:
    has_lines = exists().where(log_chunks.c.trial == log_positions.c.trial)
    few = select(log_positions.c.trial).where(where, has_lines).limit(50).subquery("few")
    return delete(log_chunks).where(log_chunks.c.trial == few.c.trial)
