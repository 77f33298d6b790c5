"""An experiment's part in the queue, as people change it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.ids import ExperimentId

_UNCAP = text(
    "UPDATE scheduler.part SET max_slots = CASE WHEN :slots THEN NULL ELSE max_slots END,"
    " max_trials = CASE WHEN :trials THEN NULL ELSE max_trials END WHERE experiment = :experiment"
)
_VERSION = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")


async def lift_caps(connection: AsyncConnection, experiment: ExperimentId, slots: bool, trials: bool) -> None:
    """From now on the experiment may hold as many slots as it gets, or run as many trials."""
    await connection.execute(_UNCAP, {"experiment": experiment, "slots": slots, "trials": trials})


async def next_version(connection: AsyncConnection) -> int:
    """The database's time in microseconds: asked under a row's lock, it rises from change to change of that row."""
    return int((await connection.execute(_VERSION)).scalar_one())
