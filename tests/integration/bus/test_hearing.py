"""A connection whose subscriptions were taken away hears again once it may, without a reconnect."""

from pathlib import Path

from shared.bus import Bus
from shared.bus.batch_publish import Outgoing, PublishAck
from shared.bus.keeping import ensure_bus
from tests.integration.bus.plain import EVERYTHING, PlainServer
from tests.support.waiting import eventually

NO_INBOX = '["elsewhere"]'


async def test_a_connection_hears_again_once_it_may(tmp_path: Path) -> None:
    reconnected: list[bool] = []

    async def stores(bus: Bus) -> bool:
        outcomes = await bus.pipeline.publish([Outgoing("evt.v1.t.a.b", b"{}", {})], 1.0)
        return isinstance(outcomes[0], PublishAck)

    async def deaf() -> bool:
        return not await stores(bus)

    async with PlainServer(tmp_path).running() as server, await server.connect() as bus:
        bus.on_reconnect.append(lambda: reconnected.append(True))
        await ensure_bus(bus.jetstream)
        assert await stores(bus)
        server.permit(NO_INBOX)
        await eventually(deaf)
        server.permit(EVERYTHING)
        await eventually(lambda: stores(bus))
        await ensure_bus(bus.jetstream)  # answers to its questions too
    assert not reconnected
