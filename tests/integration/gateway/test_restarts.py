"""The gateway alone: killed in the midst of a projection, and with its servers restarted under load."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Others, start_gateway, stop_gateway
from tests.integration.gateway.test_experiments import CONFIG, changed, create
from tests.integration.gateway.test_kills import announced
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import TIMEOUT_S, eventually

Settings = Callable[[str], dict[str, str]]


@pytest.mark.parametrize("point", ["consumer.after_inbox", "consumer.after_handlers", "consumer.before_ack"])
async def test_a_projection_survives_a_kill_once(
    settings: Settings, others: Others, postgres: TestDatabase, tmp_path: Path, point: str
) -> None:
    """One event of the feed for one change, whenever the gateway died."""
    first = await start_gateway(settings("gateway"), tmp_path, MUSTER_FAULTS=f"{point}:1:kill")
    async with first.client() as api:
        made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
    assert await asyncio.wait_for(first.process.wait(), TIMEOUT_S) == -9
    again = await start_gateway(settings("gateway"), tmp_path)
    async with again.client() as api:

        async def shown() -> bool:
            return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["version"] == 1)

        await eventually(shown)
        await asyncio.sleep(0.5)
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    count = await connection.fetchval("SELECT count(*) FROM gateway.event WHERE entity = $1", made["id"])
    await connection.close()
    assert count == 1
    await stop_gateway(again)


async def test_servers_restarted_under_load_lose_nothing(
    settings: Settings, servers: Servers, others: Others, tmp_path: Path
) -> None:
    """NATS, then Postgres, stopped and started while submissions come: each one answered is there, and announced once."""
    gateway = await start_gateway(settings("gateway"), tmp_path)
    answered: list[dict[str, Any]] = []
    stop = asyncio.Event()

    async def submit() -> None:
        async with gateway.client() as api:
            while not stop.is_set():
                try:
                    answer = await api.post("/v1/experiments", json={"config_yaml": CONFIG, "name": "load"})
                except httpx.TransportError:
                    continue
                if answer.status_code == 201:
                    answered.append(answer.json())
                else:
                    assert answer.status_code == 503, answer.text
                    await asyncio.sleep(0.05)

    loads = [asyncio.create_task(submit()) for _ in range(4)]
    for server in (servers.nats, servers.postgres):
        await asyncio.sleep(1.0)
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(servers.restart, server)
    before = len(answered)
    await eventually(lambda: len(answered) > before + 20)
    stop.set()
    await asyncio.gather(*loads)
    ids = sorted(one["id"] for one in answered)
    numbers = sorted(one["number"] for one in answered)
    assert len(set(numbers)) == len(numbers)

    async def all_told() -> bool:
        told = [str(one.experiment_id) for one in await announced(others, "load")]
        assert len(told) == len(set(told))
        return set(ids) <= set(told)

    await eventually(all_told, every_s=1.0)
    async with gateway.client() as api:
        for one in answered[:: max(1, len(answered) // 20)]:
            assert (await api.get(f"/v1/experiments/{one['number']}")).json()["id"] == one["id"]
    await stop_gateway(gateway)
