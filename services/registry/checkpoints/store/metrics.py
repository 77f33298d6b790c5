"""Metrics of the validation at a checkpoint's step."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.store.metric_json import decode_values
from services.registry.store.tables import validations


async def load_metrics(
    connection: AsyncConnection, wanted: list[CheckpointRow]
) -> dict[UUID, dict[str, float]]:
    """Return the validation at each checkpoint's step: its own run's, else the trial's latest at that step."""
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
