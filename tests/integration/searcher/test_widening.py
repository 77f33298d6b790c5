"""A search grows while the scheduler tells of idle slots, and goes back when somebody waits."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from deploy.embedded.servers import NatsServer
from muster.config import load_config
from services.searcher.core.journal import Entry, replay
from shared.ids import SITE, ExperimentId, PoolName
from shared.messages.pools import PoolCapacity
from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

CONFIG = {
    "entrypoint": "true",
    "hyperparameters": {"lr": {"type": "double", "minval": 0, "maxval": 1}},
    "searcher": {
        "name": "random",
        "metric": "loss",
        "max_trials": 12,
        "max_concurrent_trials": 2,
        "widen_to": 6,
        "widen_max_price": 2.0,
    },
}


@pytest.fixture
async def neighbours(
    nats_server: NatsServer,
    nats_credentials: Callable[[str], Path],
    settings: Callable[[str], dict[str, str]],
) -> AsyncIterator[Neighbours]:
    async with (
        Neighbours.joined(nats_server.url, nats_credentials("admin")) as joined,
        searcher(settings("searcher")),
    ):
        yield joined


async def journal(postgres: TestDatabase, experiment: ExperimentId) -> list[Entry]:
    url = postgres.urls["searcher"].system.replace("postgresql://", "postgresql+asyncpg://", 1)
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            found = await connection.execute(
                text(
                    "SELECT position, kind, facts FROM searcher.journal WHERE experiment = :e ORDER BY position"
                ),
                {"e": experiment},
            )
            return [Entry(row.position, row.kind, row.facts) for row in found]
    finally:
        await engine.dispose()


async def test_idle_slots_widen_a_search_until_somebody_waits_or_they_are_too_dear(
    neighbours: Neighbours, postgres: TestDatabase
) -> None:
    async def tell(
        version: int, idle: int, waiting: int, pool: str = "default", price: float | None = None
    ) -> None:
        capacity = PoolCapacity(
            pool=PoolName(pool),
            version=version,
            slots=5,
            used_slots=5 - idle,
            waiting_slots=waiting,
            idle_slots=idle,
            price_per_slot_hour=price,
        )
        await neighbours.publish(capacity, tenant=SITE)

    async def limits() -> list[object]:
        entries = await journal(postgres, experiment)
        return [entry.facts["limit"] for entry in entries if entry.kind == "widened"]

    async def are(*expected: int) -> None:
        async def hold() -> bool:
            return await limits() == list(expected)

        await eventually(hold)

    experiment = await neighbours.submit(CONFIG)
    await eventually(lambda: len(neighbours.heard.wishes(experiment)) == 2)
    await tell(1, 9, 0, pool="another")
    await tell(1, 3, 0)
    await are(5)
    await eventually(lambda: len(neighbours.heard.wishes(experiment)) == 5)
    await tell(2, 0, 4)
    await are(5, 2)
    await tell(3, 30, 0, price=2.0)
    await are(5, 2, 6)
    await eventually(lambda: len(neighbours.heard.wishes(experiment)) == 6)
    await tell(4, 30, 0, price=2.5)
    await are(5, 2, 6, 2)
    entries = await journal(postgres, experiment)
    assert replay(load_config(CONFIG), experiment.int & 0x7FFFFFFF, entries) is None
