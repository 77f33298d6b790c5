"""Models, their versions, and where these come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.checkpoints import Checkpoint
from services.registry.store.tables import models, trials, validations, versions
from services.registry.store.values import decode_values
from shared.ids import CheckpointId, ExperimentId, RunId, TrialId
from shared.messages.models import Lineage


@dataclass(frozen=True, slots=True)
class Model:
    """A model's row."""

    id: UUID
    tenant: UUID
    name: str
    key: str
    description: str
    metadata: Mapping[str, Any]
    by: str
    version: int
    versions: int
    created_at: datetime


async def insert_model(connection: AsyncConnection, row: Mapping[str, object]) -> Model | None:
    """Create the model; None when the tenant has one of that name."""
    made = await connection.execute(
        insert(models).values(version=1, versions=0, **row).on_conflict_do_nothing().returning(models)
    )
    found = made.first()
    return Model(**found._mapping) if found else None


async def load_model(connection: AsyncConnection, model: UUID, *, lock: bool = False) -> Model | None:
    """Return the model, its row locked when asked; None when the tenant has none of that id."""
    query = select(models).where(models.c.id == model)
    row = (await connection.execute(query.with_for_update() if lock else query)).first()
    return Model(**row._mapping) if row else None


async def add_version(connection: AsyncConnection, model: Model, row: Mapping[str, object]) -> Model:
    """Give the locked model one more version, numbered behind its last."""
    number = model.versions + 1
    await connection.execute(insert(versions).values(model=model.id, number=number, **row))
    changed = await connection.execute(
        update(models)
        .where(models.c.id == model.id)
        .values(versions=number, version=model.version + 1)
        .returning(models)
    )
    return Model(**changed.one()._mapping)


async def load_lineage(connection: AsyncConnection, version: UUID) -> Lineage | None:
    """Return where a version comes from, as it was written when the version was made."""
    stored = await connection.scalar(select(versions.c.lineage).where(versions.c.id == version))
    return Lineage.model_validate(stored) if stored is not None else None


async def trace_lineage(connection: AsyncConnection, checkpoint: Checkpoint) -> Lineage:
    """Gather where a checkpoint comes from: its trial's making, and the metrics at its step."""
    trial = (
        await connection.execute(
            select(trials.c.code_hash, trials.c.hyperparameters).where(trials.c.id == checkpoint.trial)
        )
    ).first()
    metrics = await load_metrics(connection, [checkpoint])
    return Lineage(
        experiment_id=ExperimentId(checkpoint.experiment),
        trial_id=TrialId(checkpoint.trial),
        run_id=RunId(checkpoint.run),
        checkpoint_id=CheckpointId(checkpoint.id),
        step=checkpoint.step,
        code_hash=trial.code_hash if trial else None,
        hyperparameters=trial.hyperparameters if trial else {},
        metrics=metrics.get(checkpoint.id, {}),
    )


async def load_metrics(connection: AsyncConnection, wanted: list[Checkpoint]) -> dict[UUID, dict[str, float]]:
    """Return the validation at each checkpoint's step: its own run's, else the trial's latest there."""
    if not wanted:
        return {}
    rows = await connection.execute(
        select(validations.c.trial, validations.c.step, validations.c.run, validations.c["values"])
        .where(validations.c.trial.in_({one.trial for one in wanted}))
        .where(validations.c.step.in_({one.step for one in wanted}))
        .order_by(validations.c.stored_at, validations.c.number)
    )
    by_run: dict[tuple[UUID, int], dict[str, float]] = {}
    by_trial: dict[tuple[UUID, int], dict[str, float]] = {}
    for row in rows:
        by_run[row.run, row.step] = by_trial[row.trial, row.step] = decode_values(row[3])
    found = {one.id: by_run.get((one.run, one.step)) or by_trial.get((one.trial, one.step)) for one in wanted}
    return {checkpoint: metrics for checkpoint, metrics in found.items() if metrics}


async def load_registered(connection: AsyncConnection, wanted: list[UUID]) -> frozenset[UUID]:
    """Return those of the checkpoints that a version refers to."""
    rows = await connection.scalars(
        select(versions.c.checkpoint).where(versions.c.checkpoint.in_(wanted)).distinct()
    )
    return frozenset(rows)
