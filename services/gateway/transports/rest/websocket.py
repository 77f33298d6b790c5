"""Streams over WebSockets: one text frame with JSON per item, `{"id": …, "event": …, "data": …}`.

Browsers cannot set headers on WebSockets, so they send the token as a second protocol: `new WebSocket(url, ["muster.v1", "bearer.mst_…"])`. Pages of
this gateway can use the session cookie instead; pages of other sites cannot use it (decision 0197).
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import WSCloseCode, web

from muster.errors import MusterError, Transient
from services.gateway.platform.call_context import Caller
from services.gateway.platform.dispatch import Dispatcher, Inputs
from services.gateway.platform.events.stream_limits import IDLE_TICK_S
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Request, Resource
from services.gateway.transports.rest.streaming import cursor_of

PROTOCOL = "muster.v1"
_BEARER = "bearer."
_OPEN_S = 0.5
"""Errors within this time are ordinary problem responses. After it, the handshake completes."""
_MOST_BYTES = 1024
# This logger would write unknown protocols, and with them tokens, to the log.
logging.getLogger("aiohttp.websocket").setLevel(logging.ERROR)


def wants_socket(request: web.Request) -> bool:
    """True for a WebSocket handshake."""
    return web.WebSocketResponse().can_prepare(request).ok


def bearer_among(protocols: str) -> str | None:
    """Return the token among the requested protocols; None without one."""
    for name in protocols.split(","):
        if name.strip().startswith(_BEARER):
            return name.strip().removeprefix(_BEARER)
    return None


async def stream_frames(
    request: web.Request,
    dispatcher: Dispatcher,
    row: Operation[Any, Any],
    caller: Caller,
    model: Request,
    inputs: Inputs,
) -> web.StreamResponse:
    """Stream until the operation ends or the client disconnects."""
    socket = _Socket(request)

    async def announce(position: str) -> None:
        await socket.send(id=position)

    announcing = Inputs(
        inputs.bearer, last_event_id=inputs.last_event_id, announce=announce, origin=inputs.origin
    )
    try:
        await socket.carry(dispatcher.stream(row, caller, model, announcing))
        await socket.send(event="end", data={})
        await socket.close(WSCloseCode.OK)
    except ConnectionResetError:
        pass
    except MusterError as error:
        if not socket.is_open:
            raise
        await socket.send(event="problem", data=error.to_problem())
        is_passing = isinstance(error, Transient)
        await socket.close(WSCloseCode.TRY_AGAIN_LATER if is_passing else WSCloseCode.POLICY_VIOLATION)
    finally:
        socket.forget()
    return socket.response


class _Socket:
    """One WebSocket connection."""

    def __init__(self, request: web.Request) -> None:
        self.response = web.WebSocketResponse(
            protocols=(PROTOCOL,), heartbeat=IDLE_TICK_S, max_msg_size=_MOST_BYTES, compress=False
        )
        self._request = request
        self._listening: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._listening is not None

    async def carry(self, items: AsyncIterator[Resource | None]) -> None:
        """Send the items as they arrive. Raises ConnectionResetError when the client disconnects."""
        iterator, waiting = aiter(items), None
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(anext(iterator))
                others = {self._listening} if self._listening else set()
                timeout = None if self._listening else _OPEN_S
                done, _ = await asyncio.wait(
                    {waiting, *others}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
                )
                if waiting in done:
                    finished, waiting = waiting, None
                    if (item := finished.result()) is not None:
                        await self.send(
                            id=cursor_of(item),
                            event=getattr(item, "kind", None),
                            data=orjson.Fragment(item.to_json()),
                        )
                elif done:
                    raise ConnectionResetError("the client has disconnected")
                else:
                    await self._open()
        except StopAsyncIteration:
            return
        finally:
            if waiting is not None:
                waiting.cancel()

    async def send(self, **frame: object) -> None:
        await self._open()
        await self.response.send_str(orjson.dumps(frame).decode())

    async def close(self, code: WSCloseCode) -> None:
        """Close the connection. The listening task is stopped first, so that `response.close` reads the client's close frame."""
        self.forget()
        await self.response.close(code=code)

    def forget(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    async def _open(self) -> None:
        if self._listening is None:
            await self.response.prepare(self._request)
            self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        """Answer pings until the client disconnects. Messages from the client are rejected."""
        async for _ in self.response:
            await self.response.close(
                code=WSCloseCode.UNSUPPORTED_DATA, message=b"this stream accepts no messages"
            )
