"""What a pull asks the server for, from what the server tells of its requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import orjson
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from shared.bus import envelope
from shared.bus.consumer import IMMEDIATELY
from shared.bus.pace import AT_ONCE, Pace
from shared.bus.pull import Pull
from shared.outages import Outages


class Server:
    """Serves requests in the order in which they came. `left`: of each that stands, how many messages it still asks for."""

    def __init__(self) -> None:
        self.left: list[int] = []

    def new_inbox(self) -> str:
        return "inbox"

    async def subscribe(self, inbox: str, cb: Callable[[Msg], Awaitable[None]]) -> "Server":
        self._tell = cb
        return self

    async def unsubscribe(self) -> None:
        """Nothing more is told."""

    async def publish(self, subject: str, payload: bytes, reply: str) -> None:
        self.left.append(orjson.loads(payload)["batch"])

    async def send(self, **headers: str) -> None:
        self.left[0] -= 1
        await self._tell(self._message(reply="$JS.ACK", headers=headers))

    async def lapse(self) -> None:
        """The oldest request has stood for as long as it may."""
        unserved = self.left.pop(0)
        await self._tell(self._message(headers={"Status": "408", "Nats-Pending-Messages": str(unserved)}))

    def _message(self, **more: Any) -> Msg:
        return Msg(cast(Client, self), "a subject", **more)


async def settled() -> None:
    """Whoever was woken has gone on."""
    for _ in range(10):
        await asyncio.sleep(0)


def pulling(server: Server, pace: Pace = IMMEDIATELY) -> Pull:
    return Pull(
        cast(Client, server), cast(JetStreamContext, None), "S", "d", ["s"], Outages(consumer="d"), pace
    )


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


@pytest.mark.parametrize("hurried", [{envelope.ANSWER: "1"}, {envelope.TYPE: "run.ended"}])
async def test_what_comes_often_waits_for_its_batch_and_what_is_waited_for_takes_it_along(
    hurried: dict[str, str],
) -> None:
    server, patient = Server(), {envelope.TYPE: "submission.committed"}
    pull = pulling(server, Pace(3600.0, patient=frozenset(patient.values())))
    async with pull.opened():
        for _ in range(AT_ONCE):
            coming = asyncio.create_task(pull.next_batch())
            await settled()
            await server.send(**patient)
            assert len(await coming) == 1, "after a rest nothing waits"
        coming = asyncio.create_task(pull.next_batch())
        await server.send(**patient)
        await server.send(**patient)
        await settled()
        assert not coming.done()
        await server.send(**hurried)
        assert len(await coming) == 3


async def test_what_waits_for_its_batch_has_it_when_that_is_due() -> None:
    server = Server()
    pull = pulling(server, Pace(0.01))
    async with pull.opened():
        for _ in range(AT_ONCE + 2):
            coming = asyncio.create_task(pull.next_batch())
            await settled()
            await server.send()
            assert len(await coming) == 1
