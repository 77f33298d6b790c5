"""An experiment's part in the queue, as people change it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.ids import ExperimentId

_UNCAP = text(
    "UPDATE scheduler.part SET max_slots = CASE WHEN :slots THEN NULL ELSE max_slots END,"
    " max_trials = CASE WHEN :trials THEN NULL ELSE max_trials END WHERE experiment = :experiment"
)


async def lift_caps(connection: AsyncConnection, experiment: ExperimentId, slots: bool, trials: bool) -> None:
    """From now on the experiment may hold as many slots as it gets, or run as many trials."""
    await connection.execute(_UNCAP, {"experiment": experiment, "slots": slots, "trials": trials})
