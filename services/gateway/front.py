"""The one way into every operation, whatever the protocol: who, may they, how often, then the handler under a deadline."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from muster.errors import Rejected, Transient
from services.gateway.api.base import Request, Resource
from services.gateway.authentication import Authenticator
from services.gateway.core.permissions import Access
from services.gateway.operations.call import NOBODY, Call, Caller, Doors, check_permission
from services.gateway.operations.operation import Idempotency, Operation
from services.gateway.rates import Limiter
from shared import telemetry

_MAX_KEY_CHARS = 200


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a call brings beside its request."""

    bearer: str | None = field(default=None, repr=False)
    idempotency_key: str | None = None
    if_match: str | None = None
    last_event_id: str | None = None
    body: AsyncIterator[bytes] | None = None
    announce: Callable[[str], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Front:
    """Admits callers and calls operations."""

    doors: Doors
    authenticator: Authenticator
    limiter: Limiter
    deadline_s: float
    upload_deadline_s: float

    async def admit(self, row: Operation[Any, Any], bearer: str | None) -> Caller:
        """The caller, once it is known, allowed and not too fast; before anything of the request is read."""
        caller = NOBODY
        if not isinstance(row.permission, Access):
            caller = await self.authenticator.caller_of(bearer)
            check_permission(caller, row.permission, bool(row.path_fields))
        if row.permission is not Access.PUBLIC:
            await self.limiter.take(caller.tenant, row.rate_class)
        return caller

    async def call(
        self,
        row: Operation[Any, Any],
        caller: Caller,
        request: Request,
        inputs: Inputs,
        left_s: float | None = None,
    ) -> Resource:
        """Calls a unary operation; `left_s` is what remains of the caller's own deadline."""
        deadline_s = self.upload_deadline_s if row.stream == "upload" else self.deadline_s
        if left_s is not None:
            deadline_s = min(deadline_s, left_s)
        handler = cast(Callable[[Call, Request], Awaitable[Resource]], row.handler)
        try:
            async with asyncio.timeout(deadline_s):
                return await handler(self._call(row, caller, inputs), request)
        except TimeoutError:
            raise Transient(f"{row.name} took longer than {deadline_s:g} s", code="timeout") from None

    def stream(
        self, row: Operation[Any, Any], caller: Caller, request: Request, inputs: Inputs
    ) -> AsyncIterator[Resource]:
        """Calls a streaming operation; nothing more is sent to a caller whose rights have changed."""
        handler = cast(Callable[[Call, Request], AsyncIterator[Resource]], row.handler)
        return self._still_allowed(handler(self._call(row, caller, inputs), request), caller, inputs)

    async def _still_allowed(
        self, items: AsyncIterator[Resource], caller: Caller, inputs: Inputs
    ) -> AsyncIterator[Resource]:
        async with aclosing(cast(AsyncGenerator[Resource], items)):
            async for item in items:
                if await self.authenticator.caller_of(inputs.bearer) != caller:
                    raise Transient("what you may do has changed; connect again", 0.5, "restarting")
                yield item

    def _call(self, row: Operation[Any, Any], caller: Caller, inputs: Inputs) -> Call:
        key = inputs.idempotency_key if row.idempotent is Idempotency.KEY else None
        if key is not None and not 1 <= len(key) <= _MAX_KEY_CHARS:
            raise Rejected(
                "invalid_request", f"the key must have 1 to {_MAX_KEY_CHARS} characters", "Idempotency-Key"
            )
        if inputs.if_match is not None and row.has_effect and not row.conditional:
            raise Rejected(
                "precondition_unsupported",
                f"{row.name} cannot be made to depend on what you saw",
                "If-Match",
                "leave the header out",
            )
        return Call(
            operation=row.name,
            doors=self.doors,
            caller=caller,
            needed=row.permission,
            idempotency_key=key,
            if_match=inputs.if_match if row.conditional else None,
            join_token=inputs.bearer if row.permission is Access.JOIN_TOKEN else None,
            body=inputs.body,
            trace_id=telemetry.trace_id(),
            last_event_id=inputs.last_event_id,
            announce=inputs.announce,
        )
