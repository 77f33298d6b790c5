"""The newest saved state of each long search. Whoever saves one holds its experiment's lock."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from shared.driver import Driver
from shared.ids import ExperimentId, TenantId

_SAVE = (
    "INSERT INTO searcher.snapshot (tenant, experiment, position, code, state) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT (experiment) DO UPDATE SET position = excluded.position, code = excluded.code, state = excluded.state"
)
_LOAD = "SELECT position, state FROM searcher.snapshot WHERE experiment = $1 AND code = $2 AND position <= $3"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A search as it was at `position` of its journal; only the code that has written `state` reads it."""

    position: int
    code: str
    state: bytes


async def save_snapshot(
    connection: AsyncConnection, tenant: TenantId, experiment: ExperimentId, snapshot: Snapshot
) -> None:
    """Keep it in place of the one before."""
    await Driver.of(connection).fetch(
        _SAVE, tenant, experiment, snapshot.position, snapshot.code, snapshot.state
    )


async def load_snapshot(
    connection: AsyncConnection, experiment: ExperimentId, code: str, until: int
) -> Snapshot | None:
    """Return the one that this code has saved at or before position `until`, if there is one."""
    found = await Driver.of(connection).fetch(_LOAD, experiment, code, until)
    return Snapshot(found[0]["position"], code, found[0]["state"]) if found else None
