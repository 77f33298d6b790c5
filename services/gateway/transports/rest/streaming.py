"""Server-sent events: one event per item with its cursor as the id, and comments that keep idle connections open."""

from dataclasses import replace
from typing import Any

import orjson
from aiohttp import web

from muster.errors import MusterError
from services.gateway.platform.call_context import Caller
from services.gateway.platform.dispatch import Dispatcher, Inputs
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Request, Resource

_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


async def stream_events(
    request: web.Request,
    dispatcher: Dispatcher,
    row: Operation[Any, Any],
    caller: Caller,
    model: Request,
    inputs: Inputs,
) -> web.StreamResponse:
    """Stream until the operation ends or the client disconnects. An error before the first item is an ordinary problem response."""
    response = web.StreamResponse(headers=_HEADERS)

    async def open_stream() -> None:
        if not response.prepared:
            await response.prepare(request)

    async def announce(position: str) -> None:
        # An id without data sets the client's Last-Event-ID, so that a reconnect before the first item loses nothing.
        await open_stream()
        await response.write(f"id: {position}\n\n".encode())

    items = dispatcher.stream(row, caller, model, replace(inputs, announce=announce))
    try:
        async for item in items:
            await open_stream()
            await response.write(_block(item, row) if item is not None else b": still here\n\n")
        await open_stream()
        await response.write(b"event: end\ndata: {}\n\n")
    except ConnectionResetError:
        return response
    except MusterError as error:
        if not response.prepared:
            raise
        problem = orjson.dumps(error.to_problem())
        await response.write(b"event: problem\ndata: " + problem + b"\n\n")
    await response.write_eof()
    return response


def cursor_of(item: Resource) -> str:
    """Return the cursor for resuming after the item."""
    return str(getattr(item, "cursor", None) or getattr(item, "id", ""))


def _block(item: Resource, row: Operation[Any, Any]) -> bytes:
    """Render one event. The item's JSON has no line breaks, so one data line is enough."""
    kind = f"event: {kind}\n" if (kind := getattr(item, "kind", "")) else ""
    return f"id: {cursor_of(item)}\n{kind}data: ".encode() + item.to_json() + b"\n\n"
