"""The bus keeper: creates what is missing, and widens consumers of before."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from nats.js import api

from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers import Home, NatsServer
from deploy.embedded.services import Service, load_report
from deploy.keys.files import init_keys
from deploy.keys.permissions import ADMIN
from shared.bus import Bus
from shared.bus.streams import ALL, filters_of
from shared.clock import SystemClock
from shared.messages.consumers import all_consumers
from tests.integration.servers import bus_keeper
from tests.support.waiting import eventually

RECREATED_S = 10.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    home = Home(tmp_path)
    home.make()
    running = NatsServer(home, free_ports(1)[0], init_keys(tmp_path / "keys", SystemClock().now()))
    running.prepare()
    running.start()
    running.wait_ready()
    yield running
    running.stop()


@pytest.fixture
def keeper(server: NatsServer) -> Iterator[Service]:
    running = bus_keeper(server)
    running.prepare()
    yield running
    running.stop()


async def is_whole(bus: Bus) -> bool:
    found = {
        (stream.name, info.name): filters_of(info.config)
        for stream in ALL
        for info in await bus.jetstream.consumers_info(stream.name)
    }
    return found == {(one.stream, one.service): set(one.filters) for one in all_consumers()}


async def test_streams_and_consumers_are_created_and_again_when_they_are_lost(
    server: NatsServer, keeper: Service
) -> None:
    keeper.start()
    async with await Bus.connect(server.url, ADMIN, server.keys.credentials(ADMIN)) as bus:
        jetstream = bus.jetstream

        async def whole() -> bool:
            return await is_whole(bus)

        await eventually(whole)
        await jetstream.delete_consumer("EVT", "searcher")
        await jetstream.delete_stream("CMD")
        assert not await _soon(bus, 0.0)
        assert await _soon(bus, RECREATED_S)
        await eventually(
            lambda: (
                (report := load_report(keeper.side_port)) is not None
                and all(check.ok for check in report.checks)
            )
        )


async def test_a_consumer_of_an_earlier_version_is_widened(server: NatsServer, keeper: Service) -> None:
    async with await Bus.connect(server.url, ADMIN, server.keys.credentials(ADMIN)) as bus:
        await bus.jetstream.add_stream(api.StreamConfig(name="EVT", subjects=["evt.v1.>"]))
        config = api.ConsumerConfig(
            durable_name="registry",
            filter_subjects=["evt.v1.*.run.ended"],
            ack_policy=api.AckPolicy.EXPLICIT,
            ack_wait=5.0,
            max_deliver=-1,
            max_ack_pending=2000,
        )
        await bus.jetstream.add_consumer("EVT", config)
        keeper.start()
        assert await _soon(bus, RECREATED_S)


async def test_a_consumer_that_somebody_slowed_down_is_corrected(server: NatsServer, keeper: Service) -> None:
    keeper.start()
    async with await Bus.connect(server.url, ADMIN, server.keys.credentials(ADMIN)) as bus:
        assert await _soon(bus, RECREATED_S)
        config = (await bus.jetstream.consumer_info("EVT", "registry")).config
        config.max_ack_pending, config.ack_wait = 1, 3600.0
        await bus.jetstream.add_consumer("EVT", config)

        async def is_corrected() -> bool:
            found = (await bus.jetstream.consumer_info("EVT", "registry")).config
            return (found.max_ack_pending, found.ack_wait) == (2000, 5.0)

        assert not await is_corrected()
        await eventually(is_corrected)


async def _soon(bus: Bus, within_s: float) -> bool:
    end_s = asyncio.get_running_loop().time() + within_s
    while True:
        try:
            if await is_whole(bus):
                return True
        except Exception:
            pass
        if asyncio.get_running_loop().time() >= end_s:
            return False
        await asyncio.sleep(0.1)
