"""A write under another epoch than the lease's changes nothing."""

import pytest
from sqlalchemy import text

from services.scheduler.core.state.records.trial import RequestState
from services.scheduler.store.rows import trial_row
from services.scheduler.store.save import CycleRows, save_under
from shared.database.engine import Database
from shared.errors import Conflict
from tests.unit.scheduler.world import World


async def test_a_stale_epoch_is_refused_and_nothing_of_the_cycle_is_kept(database: Database) -> None:
    async with database.system() as connection:
        await connection.execute(
            text("INSERT INTO scheduler.lease VALUES ('leader', 'me', 7, now() + interval '1 minute')")
        )
    world = World()
    world.want(1)
    trial = world.trial(1)

    async def save(epoch: int, state: RequestState) -> None:
        rows = CycleRows(trials=[trial_row(trial._replace(state=state))], runs=[], workers=[])
        async with database.system() as connection:
            await save_under(connection, "leader", epoch, rows)

    async def states() -> list[str]:
        async with database.system() as connection:
            found = await connection.execute(text("SELECT state FROM scheduler.trial"))
            return [row.state for row in found]

    for epoch in (6, 8):
        with pytest.raises(Conflict) as refused:
            await save(epoch, RequestState.QUEUED)
        assert refused.value.code == "not_leader"
    assert await states() == []
    await save(7, RequestState.QUEUED)
    with pytest.raises(Conflict):
        await save(6, RequestState.CLOSED)
    assert await states() == ["queued"]
