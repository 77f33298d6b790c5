"""What was used outlives a leader, as long as it counts or can be asked for."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from services.scheduler.core.state.indexes.decay import Decay, DecayedUsage, UsageHistory
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.store.load import load_state
from services.scheduler.store.policies import save_pool
from services.scheduler.store.usage_history import drop_usage_entries
from shared.database.engine import Database
from shared.ids import PoolName
from tests.support.policies import plain

HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
HELD = [
    # tenant, workspace, experiment, slots, hours ago: from, until
    (1, "vision", 11, 4, 3.0, 2.0),
    (1, "vision", 11, 2, 1.5, 0.5),
    (1, "speech", 12, 1, 40.0, 0.25),
    (2, "vision", 21, 8, 2.0, None),
    (2, "vision", 22, 8, 500.0, 400.0),
]
_HOLD = text(
    "INSERT INTO scheduler.usage_entry (allocation, worker, since, tenant, workspace, owner, experiment, pool, slots, until)"
    " VALUES (gen_random_uuid(), 'w', :since, :tenant, :workspace, 'ada', :experiment, 'big', :slots, :until)"
)


@dataclass
class Holder:
    """One who holds slots: a tenant, or what stands below it."""

    path: tuple[object, ...]
    past: DecayedUsage | None = None


async def hold(database: Database) -> None:
    async with database.system() as connection:
        await connection.execute(text("DELETE FROM scheduler.usage_entry"))
        for tenant, workspace, experiment, slots, begin, end in HELD:
            await connection.execute(
                _HOLD,
                {
                    "since": NOW - begin * HOUR,
                    "tenant": UUID(int=tenant),
                    "workspace": workspace,
                    "experiment": UUID(int=experiment),
                    "slots": slots,
                    "until": None if end is None else NOW - end * HOUR,
                },
            )


async def test_a_new_leader_knows_what_was_used(database: Database) -> None:
    await hold(database)
    lived = UsageHistory(Decay(HOUR, milliseconds(NOW - 600 * HOUR)))
    for tenant, workspace, experiment, slots, begin, end in HELD:
        path = (UUID(int=tenant), workspace, "ada", UUID(int=experiment))
        holders = [Holder(path[:length]) for length in range(1, len(path) + 1)]
        lived.charge(holders, slots, milliseconds(NOW - begin * HOUR))
        lived.charge(holders, -slots, milliseconds(NOW - (end or 0.0) * HOUR))
    async with database.system() as connection:
        await save_pool(connection, plain(PoolName("big"), order="fair_share", half_life=HOUR))
        world = await load_state(connection, NOW)
    read = world.cluster.pools[PoolName("big")].shares.history
    assert read is not None
    expected = averages(lived)
    assert averages(read) == {
        path: pytest.approx(one, abs=0.01) for path, one in expected.items() if one > 0.01
    }


def averages(history: UsageHistory) -> dict[tuple[object, ...], float]:
    now_ms = milliseconds(NOW)
    integral, present = history.decay.until(now_ms), history.decay.present(now_ms)
    return {path: float(past.at(integral) / present) for path, past in history.pasts.items()}


async def test_usage_entries_go_when_nobody_can_ask_for_them_any_more(database: Database) -> None:
    await hold(database)
    async with database.system() as connection:
        assert await drop_usage_entries(connection, NOW - HOUR) is False
        left = await connection.execute(text("SELECT slots FROM scheduler.usage_entry ORDER BY since"))
        assert [int(row.slots) for row in left] == [1, 8, 2]
