"""A NATS server without our keys, for what a connection does by itself."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers.base import executable
from shared.bus import Bus
from shared.errors import Transient
from tests.support.waiting import eventually

EVERYTHING = '[">"]'


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
        self.write(EVERYTHING)
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

    async def connect(self) -> Bus:
        """Waits until it takes connections in."""
        opened: list[Bus] = []

        async def connected() -> bool:
            try:
                opened.append(await Bus.connect(f"nats://u:p@127.0.0.1:{self.port}", "gateway"))
            except Transient:
                return False
            return True

        await eventually(connected)
        return opened[0]
