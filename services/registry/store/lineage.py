"""Where a checkpoint comes from: what a version keeps of its making, and the metrics at a checkpoint's step."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.checkpoints import Checkpoint
from services.registry.store.tables import experiments, trials, validations, versions
from services.registry.store.values import decode_values
from shared.ids import CheckpointId, ExperimentId, RunId, TrialId
from shared.messages.lineage import Lineage


async def load_lineage(connection: AsyncConnection, version: UUID) -> Lineage | None:
    """Return where a version comes from, as it was written when the version was made."""
    stored = await connection.scalar(select(versions.c.lineage).where(versions.c.id == version))
    return Lineage.model_validate(stored) if stored is not None else None


async def trace_lineage(connection: AsyncConnection, checkpoint: Checkpoint) -> Lineage:
    """Gather where a checkpoint comes from: its trial's making, its experiment's data, and the metrics at its step."""
    trial = (
        await connection.execute(
            select(trials.c.code_hash, trials.c.hyperparameters, trials.c.start_checkpoint).where(
                trials.c.id == checkpoint.trial
            )
        )
    ).first()
    datasets = await connection.scalar(
        select(experiments.c.datasets).where(experiments.c.id == checkpoint.experiment)
    )
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
        datasets=datasets or (),
        start_checkpoint=trial.start_checkpoint if trial else None,
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
