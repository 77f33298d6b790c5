"""What a handler is given beside its request: who calls, until when, and the doors to everything else."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar, cast
from uuid import UUID

from pydantic import BaseModel, JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import MusterError, NotFound, Rejected, Transient, uncertain
from services.gateway.platform.audit.auditor import AuditWriter, to_record_fields
from services.gateway.platform.auth.grants import AssignedRole, Grants, Scope, row_filters
from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.dependencies import Dependencies
from services.gateway.platform.events.feed import View
from services.gateway.platform.schema import Resource
from shared.bus import Unit
from shared.ids import SITE, TenantId
from shared.messages.base import Query

R = TypeVar("R", bound=BaseModel)
A = TypeVar("A", bound=Resource)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; the tenant comes from here alone."""

    tenant: TenantId
    tenant_name: str
    token_id: UUID
    name: str
    grants: Grants
    roles: tuple[AssignedRole, ...] = ()
    user: UUID | None = None
    """Whose token it is; None for one that has its role itself."""
    expires_at: datetime | None = None
    session: UUID | None = None
    """The session that it signed in with; None for who calls with a token."""

    @property
    def keeps_site(self) -> bool:
        """True for who sees how much each tenant uses, never for what."""
        return self.grants.holds(Permission.TENANT_READ)


UNAUTHENTICATED = Caller(SITE, "", UUID(int=0), "", Grants({}))
"""The caller of operations that ask for no access token."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one operation."""

    operation: str
    doors: Dependencies
    caller: Caller
    needed: Permission | Access = Access.PUBLIC
    """What the operation asks of its caller: where that is not held, nothing is found."""
    idempotency_key: str | None = None
    is_secret: bool = False
    """Whether the answer holds a secret, which is then kept for a repeated request sealed only."""
    if_match: str | None = None
    """The tags of what the caller saw: only that is to be changed."""
    address: str | None = None
    """Where the call comes from, as the network says it."""
    join_token: str | None = field(default=None, repr=False)
    body: AsyncIterator[bytes] | None = None
    last_event_id: str | None = None
    announce: Callable[[str], Awaitable[None]] | None = None
    """Tells a stream's caller where it stands before the first item, so that a reconnect loses nothing."""
    pen: AuditWriter | None = field(default=None, repr=False)
    """Writes the record of the call into the audit log; None where nothing is changed."""

    @property
    def tenant(self) -> TenantId:
        return self.caller.tenant

    @property
    def within(self) -> Mapping[str, str]:
        """What of the tenant the call sees, for row-level security; empty for all of it."""
        return row_filters(self.caller.grants, self.needed)

    @property
    def view(self) -> View:
        """The same, as part of a cache's key."""
        return self.tenant, frozenset(self.within.items())

    def read(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A read session: a snapshot of what the caller's permission for this operation covers."""
        return self.doors.database.read(self.tenant, self.within)

    async def cached(self, reference: str, load: Callable[[], Awaitable[A]]) -> A:
        """What `load` finds; or found just now for the same operation, view and reference, if the tenant has not changed since."""
        key = self.operation, self.view, reference, self.doors.feed.version(self.tenant)
        return cast(A, await self.doors.cache.load(key, load))

    def transaction(self, *, audited: bool = True) -> AbstractAsyncContextManager[Unit]:
        """A transaction on what `read` sees; the call's audit record is committed with it.

        Args:
            audited: False for a step that prepares the change and has no record of its own.
        """
        unit = self.doors.units.tenant(self.tenant, self.within)
        return self._changed(unit) if audited else unit

    def site_transaction(self) -> AbstractAsyncContextManager[Unit]:
        """A transaction of the system role, over all tenants: for changes by site operators. The call's audit record is committed with it."""
        return self._changed(self.doors.units.system())

    async def ask_for_change(self, question: Query[R], timeout_s: float | None = None) -> R:
        """Ask another service for a change, once the audit record is committed."""
        await self.record()
        try:
            return await self.doors.bus.ask(question, self.tenant, timeout_s or self.doors.timeouts.query_s)
        except Transient as error:
            # An owner that answers says what it did; one that does not may have done it all the same.
            if error.code == "timeout" and self.pen is not None:
                raise uncertain(error, self.pen.asked_path) from error
            raise

    async def ask_if_available(self, question: Query[R], tenant: TenantId | None = None) -> R | None:
        """Ask another service for the state before a change, for the audit log. Return None on any error: the change itself is still asked for."""
        try:
            return await self.doors.bus.ask(question, tenant or self.tenant, self.doors.timeouts.query_s)
        except MusterError:
            return None

    async def record(self) -> None:
        """Commits the call's audit record by itself, unless it is committed already or there is none."""
        if (pen := self.pen) is not None and not pen.is_written:
            units, one = self.doors.units, len(pen.tenants) == 1
            async with self._recorded(units.tenant(pen.tenants[0]) if one else units.system()):
                pass

    def note(
        self,
        before: Resource | Mapping[str, JsonValue] | None = None,
        after: Resource | Mapping[str, JsonValue] | None = None,
        entity: str | None = None,
        code: str | None = None,
    ) -> None:
        """What the audit record shows of the thing that is changed; to be said before the transaction ends.

        Args:
            before: as its users saw it.
            after: as they see it from now on.
            entity: what it is, as `kind/name`, where the path says it otherwise.
            code: a word on how it went, such as `repeated`.
        """
        if (pen := self.pen) is not None:
            pen.before = to_record_fields(before) if before is not None else pen.before
            pen.after = to_record_fields(after) if after is not None else pen.after
            pen.entity, pen.code = entity or pen.entity, code or pen.code

    def concerns(self, tenant: TenantId) -> None:
        """Who keeps the site changes something of a tenant: the record stands in that tenant's log too."""
        if self.pen is not None and tenant not in self.pen.tenants:
            self.pen.tenants += (tenant,)

    @asynccontextmanager
    async def _changed(self, opened: AbstractAsyncContextManager[Unit]) -> AsyncIterator[Unit]:
        """As `_recorded`, and noted: what comes after the commit may fail, and the change stands."""
        async with self._recorded(opened) as unit:
            yield unit
        if self.pen is not None:
            self.pen.has_changed = True

    @asynccontextmanager
    async def _recorded(self, opened: AbstractAsyncContextManager[Unit]) -> AsyncIterator[Unit]:
        async with opened as unit:
            yield unit
            if self.pen is not None:
                await self.pen.write(unit)
        if self.pen is not None:
            self.pen.written()

    @property
    def sees_all_experiments(self) -> bool:
        """True where nothing of the tenant's experiments is kept from the call."""
        return "experiments" not in self.within

    def as_reader(self) -> "Call":
        """The call as one that only looks, where another thing than its own is looked at."""
        return replace(self, needed=Permission.EXPERIMENT_READ)

    def as_tenant(self, tenant: TenantId) -> "Call":
        """The call of somebody who is about to be known as one of this tenant, and may nothing yet."""
        if self.pen is not None:
            self.pen.tenants = (tenant,)
        return replace(self, caller=replace(UNAUTHENTICATED, tenant=tenant))

    def check_place(self, needed: Permission, place: Scope) -> None:
        """Raises Rejected where something would be made at a place where the caller may not. It says nothing of what is there."""
        if not self.caller.grants.holds(needed, place):
            raise Rejected(
                "forbidden",
                f"you may not do this in {place}; it takes the permission {needed} there",
                hint="`muster whoami` shows your roles and where they count",
            )


def check_permission(caller: Caller, needed: Permission | Access, names_object: bool) -> None:
    """Raises Rejected when the caller may nowhere; about one object the answer is that of an absent one."""
    if isinstance(needed, Access) or caller.grants.holds(needed):
        return
    if names_object:
        raise NotFound("what the path names")
    roles = ", ".join(map(str, caller.roles)) or "none"
    raise Rejected(
        "forbidden",
        f"your roles ({roles}) do not let you do this; it takes the permission {needed}",
        hint="ask an administrator of your tenant for a role that has it",
    )
