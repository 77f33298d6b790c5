"""Dispatches calls of all protocols: authentication, permission, limits, then the handler with a deadline."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

from muster.errors import Rejected, Transient, uncertain
from services.gateway.platform.audit.auditor import AuditWriter
from services.gateway.platform.audit.records import (
    Audited,
    CallFacts,
    CallOrigin,
    name_entity,
    requested_fields,
)
from services.gateway.platform.auth.authentication import Authenticator, CallerCredentials
from services.gateway.platform.auth.permissions import SITE as SITE_PERMISSIONS, Access
from services.gateway.platform.auth.refusals import Unauthenticated
from services.gateway.platform.call_context import UNAUTHENTICATED, Call, Caller, check_permission
from services.gateway.platform.commands.long_operation_answers import OperationInProgress
from services.gateway.platform.dependencies import Dependencies
from services.gateway.platform.events.stream_limits import IDLE_TICK_S, OpenStreams, with_idle_ticks
from services.gateway.platform.limits.concurrency import ConcurrencyLimits
from services.gateway.platform.limits.exceeded import LimitExceeded
from services.gateway.platform.limits.rate_limits import RateLimiter
from services.gateway.platform.limits.tenant_rates import TenantRates
from services.gateway.platform.operation import MAX_KEY_CHARS, Idempotency, Operation
from services.gateway.platform.schema import Request, Resource
from shared import telemetry
from shared.ids import SITE, TenantId
from shared.telemetry import metrics

UNKNOWN_ORIGIN = CallOrigin()
NOTHING: Mapping[str, str] = MappingProxyType({})
_DENIALS = {"forbidden", "unauthenticated"}


@dataclass(frozen=True, slots=True)
class Inputs:
    """Metadata of a call beside its request."""

    bearer: str | None = field(default=None, repr=False)
    certificates: tuple[str, ...] = ()
    idempotency_key: str | None = None
    if_match: str | None = None
    last_event_id: str | None = None
    body: AsyncIterator[bytes] | None = None
    announce: Callable[[str], Awaitable[None]] | None = None
    origin: CallOrigin = UNKNOWN_ORIGIN

    @property
    def credentials(self) -> CallerCredentials:
        """The caller's credentials."""
        return CallerCredentials(self.bearer, self.certificates)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Admits callers and calls the handlers of operations."""

    dependencies: Dependencies
    authenticator: Authenticator
    rate_limiter: RateLimiter
    tenant_rates: TenantRates
    concurrency_limits: ConcurrencyLimits
    deadline_s: float
    upload_deadline_s: float
    streams: OpenStreams
    idle_tick_s: float = IDLE_TICK_S

    @asynccontextmanager
    async def admit(
        self,
        row: Operation[Any, Any],
        credentials: CallerCredentials,
        origin: CallOrigin = UNKNOWN_ORIGIN,
        named: Mapping[str, str] = NOTHING,
    ) -> AsyncIterator[Caller]:
        """Authenticate and authorize the caller, apply its limits, and yield it, before the request's body is read.

        The request counts against the concurrency limits until the block ends.

        Args:
            named: values of the path's parameters.
        """
        with metrics.request(row.rate_class):
            caller = await self._identify(row, credentials, origin, named)
            try:
                await self._check_rate(row, caller)
                if row.occupies is None:
                    yield caller
                else:
                    # Unauthenticated clients are limited by address, so that one cannot keep the others from signing in.
                    sender = caller.tenant if caller is not UNAUTHENTICATED else origin.address
                    async with self.concurrency_limits.hold(sender, row.occupies):
                        yield caller
            except LimitExceeded as error:
                metrics.rejection(row.rate_class, error.limit)
                raise

    async def _identify(
        self,
        row: Operation[Any, Any],
        credentials: CallerCredentials,
        origin: CallOrigin,
        named: Mapping[str, str],
    ) -> Caller:
        caller = UNAUTHENTICATED
        if not isinstance(row.permission, Access):
            try:
                caller = await self.authenticator.caller_of(credentials)
                check_permission(caller, row.permission, bool(row.path_fields))
            except Rejected as error:
                self._deny(row, caller, origin, named, error)
                raise
        return caller

    async def _check_rate(self, row: Operation[Any, Any], caller: Caller) -> None:
        if row.permission is not Access.PUBLIC:
            own = await self.tenant_rates.rates_of(caller) if caller is not UNAUTHENTICATED else None
            await self.rate_limiter.take(caller.tenant, row.rate_class, own)

    async def call(
        self,
        row: Operation[Any, Any],
        caller: Caller,
        request: Request,
        inputs: Inputs,
        left_s: float | None = None,
    ) -> Resource:
        """Call a unary operation. `left_s`: seconds until the caller's own deadline."""
        deadline_s = self.upload_deadline_s if row.stream == "upload" else self.deadline_s
        if left_s is not None:
            deadline_s = min(deadline_s, left_s)
        handler = cast(Callable[[Call, Request], Awaitable[Resource]], row.handler)
        call = self._call(row, caller, request, inputs)
        try:
            async with asyncio.timeout(deadline_s):
                found = await handler(call, request)
                # Reads, and changes without effect: a change has committed its record already.
                await call.record()
                return found
        except Rejected as error:
            # If the record is written, the call was allowed and another service refused it.
            if call.audit_writer is None or not call.audit_writer.is_written:
                self._deny(row, caller, inputs.origin, _named(row, request), error)
            raise
        except OperationInProgress:
            raise
        except Transient as error:
            if call.audit_writer is not None and call.audit_writer.has_changed:
                raise uncertain(error, call.audit_writer.request_path) from error
            raise
        except TimeoutError:
            late = Transient(f"{row.name} took longer than {deadline_s:g} s", code="timeout")
            # Even without a known commit: the timeout may have interrupted it.
            raise (
                uncertain(late, call.audit_writer.request_path) if call.audit_writer is not None else late
            ) from None

    def stream(
        self, row: Operation[Any, Any], caller: Caller, request: Request, inputs: Inputs
    ) -> AsyncIterator[Resource | None]:
        """Call a streaming operation. The stream ends when the caller's permissions change; None marks an idle interval."""
        handler = cast(Callable[[Call, Request], AsyncIterator[Resource]], row.handler)
        call = self._call(row, caller, request, inputs)
        return self._still_allowed(handler(call, request), call, inputs)

    async def _still_allowed(
        self, items: AsyncIterator[Resource], call: Call, inputs: Inputs
    ) -> AsyncIterator[Resource | None]:
        with self.streams.hold(call.tenant):
            await call.record()
            async with aclosing(
                cast(AsyncGenerator[Resource | None], with_idle_ticks(items, self.idle_tick_s))
            ) as ticking:
                async for item in ticking:
                    if await self.authenticator.caller_of(inputs.credentials) != call.caller:
                        raise Transient("your permissions have changed; connect again", 0.5, "restarting")
                    yield item

    def _call(self, row: Operation[Any, Any], caller: Caller, request: Request, inputs: Inputs) -> Call:
        key = inputs.idempotency_key if row.idempotent is Idempotency.KEY else None
        if key is not None and not 1 <= len(key) <= MAX_KEY_CHARS:
            raise Rejected(
                "invalid_request",
                f"an idempotency key must have 1 to {MAX_KEY_CHARS} characters",
                "Idempotency-Key",
            )
        if inputs.if_match is not None and row.has_effect and not row.conditional:
            raise Rejected(
                "precondition_unsupported",
                f"{row.name} does not support If-Match",
                "If-Match",
                "remove the header",
            )
        return Call(
            operation=row.name,
            dependencies=self.dependencies,
            caller=caller,
            needed=row.permission,
            idempotency_key=key,
            is_secret=row.secret,
            if_match=inputs.if_match if row.conditional else None,
            address=inputs.origin.address or None,
            join_token=inputs.bearer if row.permission is Access.JOIN_TOKEN else None,
            body=inputs.body,
            last_event_id=inputs.last_event_id,
            announce=inputs.announce,
            audit_writer=self._audit_writer(row, caller, request, inputs.origin),
        )

    def _audit_writer(
        self, row: Operation[Any, Any], caller: Caller, request: Request, origin: CallOrigin
    ) -> AuditWriter | None:
        if row.audits is Audited.NEVER:
            return None
        asked = request.model_dump(mode="json", exclude=set(row.path_fields), exclude_defaults=True)
        return AuditWriter(
            facts=_facts(row, caller, origin, _named(row, request)),
            tenants=(_whose(row, caller),),
            path=row.path,
            trace_id=telemetry.trace_id(),
            asked=requested_fields(asked),
            auditor=self.dependencies.auditor,
        )

    def _deny(
        self,
        row: Operation[Any, Any],
        caller: Caller,
        origin: CallOrigin,
        named: Mapping[str, str],
        error: Rejected,
    ) -> None:
        """Record a denial in the log of the caller's tenant. NotFound counts as a denial only for changes, as the entity may be another tenant's."""
        if isinstance(error, Unauthenticated):
            facts = replace(
                _facts(row, caller, origin, named), actor=error.name, user=error.user, token=error.token
            )
            self.dependencies.auditor.deny(error.tenant, facts, error.why)
        elif error.code in _DENIALS or (error.code == "not_found" and row.audits is not Audited.NEVER):
            self.dependencies.auditor.deny(
                _whose(row, caller), _facts(row, caller, origin, named), error.code
            )


def _facts(
    row: Operation[Any, Any], caller: Caller, origin: CallOrigin, named: Mapping[str, str]
) -> CallFacts:
    return CallFacts(
        operation=row.name,
        entity=name_entity(row.path, named),
        origin=origin,
        actor=caller.name,
        user=caller.user,
        token=caller.token_id if caller is not UNAUTHENTICATED else None,
        path=named,
    )


def _named(row: Operation[Any, Any], request: Request) -> dict[str, str]:
    """Return the values of the path's parameters."""
    return {name: str(getattr(request, name)) for name in row.path_fields}


def _whose(row: Operation[Any, Any], caller: Caller) -> TenantId:
    """Return the tenant whose log records a call: the site's for permissions on the site and for unauthenticated callers."""
    return SITE if row.permission in SITE_PERMISSIONS or caller is UNAUTHENTICATED else caller.tenant
