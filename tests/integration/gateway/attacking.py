"""What attacks on a gateway have in common: while they go on others are answered, and afterwards its memory is what it was."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.integration.gateway.conftest import Gateway
from tests.support.raw_sockets import Memory
from tests.support.waiting import eventually

RISES_MIB = 96.0
"""No attack here has the gateway hold more than this beside what it held, at any moment."""
KEPT_MIB = 48.0
"""And this is what it may keep of it: what an allocator does not give back."""
_EVERY_S = 0.05


async def _asked(client: httpx.AsyncClient) -> httpx.Response:
    """As clients do: a connection that rests is closed to make room, and that may be just when it is used again."""
    try:
        return await client.get("/v1/experiments")
    except httpx.RemoteProtocolError:
        return await client.get("/v1/experiments")


@asynccontextmanager
async def withstood(gateway: Gateway, rises_mib: float = RISES_MIB) -> AsyncIterator[Memory]:
    """Around an attack: somebody else calls all the while, and is answered each time."""
    memory = Memory(gateway.process.pid)
    over = asyncio.Event()

    async def call_on() -> int:
        answered = 0
        async with gateway.client() as client:
            while not over.is_set():
                answer = await _asked(client)
                assert answer.status_code == 200, answer.text
                answered += 1
                await asyncio.sleep(_EVERY_S)
        return answered

    calling = asyncio.create_task(call_on())
    try:
        yield memory
    finally:
        over.set()
    assert await calling > 0
    assert memory.rise_mib < rises_mib, f"it rose by {memory.rise_mib:.0f} MiB"
    await eventually(lambda: memory.kept_mib < KEPT_MIB)
