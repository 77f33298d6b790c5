"""An experiment's part in the queue, as people change it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.ids import ExperimentId

_UNCAP = text("UPDATE scheduler.part SET max_slots = NULL WHERE experiment = :experiment")
_VERSION = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")


async def lift_cap(connection: AsyncConnection, experiment: ExperimentId) -> None:
    """From now on the experiment may hold as many slots as it gets."""
    await connection.execute(_UNCAP, {"experiment": experiment})


async def next_version(connection: AsyncConnection) -> int:
    """The database's time in microseconds: asked under a row's lock, it rises from change to change of that row."""
    return int((await connection.execute(_VERSION)).scalar_one())
