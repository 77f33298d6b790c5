"""Edits of an experiment's stored policy."""

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.store.tables import experiment_policy
from shared.ids import ExperimentId


async def lift_caps(connection: AsyncConnection, experiment: ExperimentId, slots: bool, trials: bool) -> None:
    """Remove the experiment's limits on slots or on concurrent trials."""
    lifted = {"max_slots": slots, "max_trials": trials}
    values = {name: None for name, is_lifted in lifted.items() if is_lifted}
    if values:
        await connection.execute(
            update(experiment_policy).where(experiment_policy.c.experiment == experiment).values(values)
        )
