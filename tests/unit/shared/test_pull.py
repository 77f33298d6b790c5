"""What a pull asks the server for, from what the server tells of its requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from shared.bus.pull import Pull
from shared.runtime.outages import Outages


class Server:
    """Serves requests in the order in which they came. `left`: of each that stands, how many messages it still asks for."""

    def __init__(self) -> None:
        self.left: list[int] = []

    def new_inbox(self) -> str:
        return "inbox"

    async def subscribe(self, inbox: str, cb: Callable[[Msg], Awaitable[None]]) -> "Server":
        self._deliver = cb
        return self

    async def unsubscribe(self) -> None:
        """Nothing more is told."""

    async def publish(self, subject: str, payload: bytes, reply: str) -> None:
        self.left.append(orjson.loads(payload)["batch"])

    async def send(self, **headers: str) -> None:
        self.left[0] -= 1
        await self._deliver(self._message(reply="$JS.ACK", headers=headers))

    async def lapse(self) -> None:
        """The oldest request has stood for as long as it may."""
        unserved = self.left.pop(0)
        await self._deliver(self._message(headers={"Status": "408", "Nats-Pending-Messages": str(unserved)}))

    def _message(self, **more: Any) -> Msg:
        return Msg(cast(Client, self), "a subject", **more)


async def settled() -> None:
    """Whoever was woken has gone on."""
    for _ in range(10):
        await asyncio.sleep(0)


def pulling(server: Server) -> Pull:
    return Pull(cast(Client, server), cast(JetStreamContext, None), "S", "d", ["s"], Outages(consumer="d"))


async def test_requests_that_lapse_beside_another_do_not_pile_up() -> None:
    server = Server()
    pull = pulling(server)
    async with pull.opened():
        for _ in range(8):
            coming = asyncio.create_task(pull.next_batch())
            await settled()
            await server.lapse()
            await settled()
            assert server.left, "somebody has to be asked for what comes now"
            await server.send()
            assert len(await coming) == 1
            assert len(server.left) <= 2
