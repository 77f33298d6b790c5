"""The lineage record of a model version."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.checkpoints.store.metrics import load_metrics
from services.registry.store.tables import IMAGE_OF_RUN, experiments, runs, trials, versions
from shared.ids import CheckpointId, ExperimentId, RunId, TrialId
from shared.messages.lineage import Lineage


async def load_lineage(connection: AsyncConnection, version: UUID) -> Lineage | None:
    """Return the lineage recorded when the version was created."""
    stored = await connection.scalar(select(versions.c.lineage).where(versions.c.id == version))
    return Lineage.model_validate(stored) if stored is not None else None


async def trace_lineage(connection: AsyncConnection, checkpoint: CheckpointRow) -> Lineage:
    """Return the lineage of a checkpoint: its trial, its experiment's datasets, and the metrics at its step."""
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
    image = await connection.scalar(select(IMAGE_OF_RUN).where(runs.c.id == checkpoint.run))
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
        image=image,
    )
