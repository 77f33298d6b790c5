"""The newest saved state of each long search. Saving requires the experiment's lock."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.store.tables import snapshot
from shared.ids import ExperimentId, TenantId


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A search at `position` of its journal. Only the code that wrote `state` reads it."""

    position: int
    code: str
    state: bytes


async def save_snapshot(
    connection: AsyncConnection, tenant: TenantId, experiment: ExperimentId, saved: Snapshot
) -> None:
    """Save a state in place of the earlier one."""
    values = {"position": saved.position, "code": saved.code, "state": saved.state}
    save = insert(snapshot).values(tenant=tenant, experiment=experiment, **values)
    await connection.execute(save.on_conflict_do_update(index_elements=["experiment"], set_=values))


async def load_snapshot(
    connection: AsyncConnection, experiment: ExperimentId, code: str, until: int
) -> Snapshot | None:
    """Return the state that this code saved at or before position `until`, if there is one."""
    here = snapshot.c
    query = select(here.position, here.state).where(
        here.experiment == experiment, here.code == code, here.position <= until
    )
    found = (await connection.execute(query)).one_or_none()
    return Snapshot(found.position, code, found.state) if found else None
