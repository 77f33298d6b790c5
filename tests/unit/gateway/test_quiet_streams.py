"""A stream on which nothing comes: it shows that it is there, and ends for whom it is no longer."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.auth.authentication import CallerCredentials
from services.gateway.platform.auth.refusals import Unauthenticated
from services.gateway.platform.call_context import UNAUTHENTICATED, Caller
from services.gateway.platform.dispatch import Dispatcher, Inputs
from services.gateway.platform.events.stream_limits import OpenStreams

WATCH = next(row for row in OPERATIONS if row.name == "WatchEvents")


class Tokens:
    """Knows the caller until the token is revoked."""

    is_revoked = False

    async def caller_of(self, shown: CallerCredentials) -> Caller:
        if self.is_revoked:
            raise Unauthenticated("token_revoked")
        return UNAUTHENTICATED


async def test_a_stream_without_events_ends_when_its_token_is_revoked_and_closes_what_it_follows() -> None:
    tokens, closed, nothing = Tokens(), asyncio.Event(), cast(Any, None)

    async def nothing_comes(*_: object) -> AsyncIterator[Any]:
        try:
            await asyncio.Event().wait()
            yield
        finally:
            closed.set()

    row = dataclasses.replace(WATCH, handler=nothing_comes)
    dispatcher = Dispatcher(
        nothing, cast(Any, tokens), nothing, nothing, nothing, 1, 1, OpenStreams(1), idle_tick_s=0.001
    )
    stream = aiter(dispatcher.stream(row, UNAUTHENTICATED, row.request(), Inputs()))
    assert await anext(stream) is None
    tokens.is_revoked = True
    with pytest.raises(Unauthenticated):
        await anext(stream)
    assert closed.is_set()
