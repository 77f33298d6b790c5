"""A connection whose subscriptions were taken away hears again once it may, without a reconnect."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deploy.embedded.ports import free_ports
from deploy.embedded.servers.base import executable
from shared.bus import Bus
from shared.bus.pipeline import Outgoing, Stored
from shared.errors import Transient
from tests.support.waiting import eventually

ALL, NO_INBOX = '[">"]', '["elsewhere"]'


class PlainServer:
    """A server with one user, whose permissions change while it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "nats.conf"
        (self.port,) = free_ports(1)

    def write(self, hears: str) -> None:
        self.config.write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.folder}" }}\n'
            "authorization { users: [ { user: u, password: p,"
            f' permissions: {{ publish: [">"], subscribe: {{ allow: {hears} }} }} }} ] }}\n'
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator["PlainServer"]:
        self.write(ALL)
        process = await asyncio.create_subprocess_exec(
            executable("nats-server"), "-c", str(self.config), stderr=asyncio.subprocess.DEVNULL
        )
        self.process = process
        try:
            yield self
        finally:
            process.terminate()
            await process.wait()

    def permit(self, hears: str) -> None:
        self.write(hears)
        self.process.send_signal(signal.SIGHUP)


async def test_a_connection_hears_again_once_it_may(tmp_path: Path) -> None:
    reconnected: list[bool] = []

    async def stores(bus: Bus) -> bool:
        outcomes = await bus.pipeline.publish([Outgoing("evt.v1.t.a.b", b"{}", {})], 1.0)
        return isinstance(outcomes[0], Stored)

    async def connected() -> bool:
        try:
            opened.append(await Bus.connect(f"nats://u:p@127.0.0.1:{server.port}", "gateway"))
        except Transient:
            return False
        return True

    opened: list[Bus] = []
    async with PlainServer(tmp_path).running() as server:
        await eventually(connected)
        async with opened[0] as bus:
            bus.on_reconnect.append(lambda: reconnected.append(True))
            await bus.ensure_streams()
            assert await stores(bus)
            server.permit(NO_INBOX)

            async def deaf() -> bool:
                return not await stores(bus)

            await eventually(deaf)
            server.permit(ALL)
            await eventually(lambda: stores(bus))
            await bus.ensure_streams()  # answers to its questions too
    assert not reconnected
