"""The context of a call, which handlers get beside the request: the caller and the dependencies."""

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
    """The authenticated caller. It is the only source of the tenant."""

    tenant: TenantId
    tenant_name: str
    token_id: UUID
    name: str
    grants: Grants
    roles: tuple[AssignedRole, ...] = ()
    user: UUID | None = None
    """The token's user; None for a token with its own role."""
    expires_at: datetime | None = None
    session: UUID | None = None
    """The caller's session; None for a caller with a token."""

    @property
    def is_site_operator(self) -> bool:
        """True for operators of the site, who see the usage of every tenant, but no content."""
        return self.grants.holds(Permission.TENANT_READ)


UNAUTHENTICATED = Caller(SITE, "", UUID(int=0), "", Grants({}))
"""The caller of operations that need no access token."""


@dataclass(frozen=True, slots=True)
class Call:
    """The context of one call of an operation."""

    operation: str
    dependencies: Dependencies
    caller: Caller
    needed: Permission | Access = Access.PUBLIC
    """The permission that the operation needs. Outside its scopes, the call finds nothing."""
    idempotency_key: str | None = None
    is_secret: bool = False
    """Whether the answer contains a secret. It is then stored encrypted for repeated requests."""
    if_match: str | None = None
    """Entity tags of the versions that the call may change."""
    address: str | None = None
    """The client's network address."""
    join_token: str | None = field(default=None, repr=False)
    body: AsyncIterator[bytes] | None = None
    last_event_id: str | None = None
    announce: Callable[[str], Awaitable[None]] | None = None
    """Sends a stream's start position to the client before the first item, so that a reconnect loses nothing."""
    audit_writer: AuditWriter | None = field(default=None, repr=False)
    """Writes the call's audit record; None for operations that are not audited."""

    @property
    def tenant(self) -> TenantId:
        return self.caller.tenant

    @property
    def row_filters(self) -> Mapping[str, str]:
        """The scopes that row-level security filters by; empty if the call may access the whole tenant."""
        return row_filters(self.caller.grants, self.needed)

    @property
    def view(self) -> View:
        """The tenant and `row_filters` as part of cache keys."""
        return self.tenant, frozenset(self.row_filters.items())

    def read(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Open a read session: a snapshot, filtered to the scopes of the needed permission."""
        return self.dependencies.database.read(self.tenant, self.row_filters)

    async def cached(self, reference: str, load: Callable[[], Awaitable[A]]) -> A:
        """Return the result of `load`, cached by operation, view and reference until the tenant changes."""
        key = self.operation, self.view, reference, self.dependencies.feed.version(self.tenant)
        return cast(A, await self.dependencies.cache.load(key, load))

    def transaction(self, *, audited: bool = True) -> AbstractAsyncContextManager[Unit]:
        """Open a transaction with the same filter as `read`. The call's audit record is committed with it.

        Args:
            audited: False for a preparing step without an audit record.
        """
        unit = self.dependencies.units.tenant(self.tenant, self.row_filters)
        return self._changed(unit) if audited else unit

    def site_transaction(self) -> AbstractAsyncContextManager[Unit]:
        """Open a transaction of the system role over all tenants, for changes by site operators. The call's audit record is committed with it."""
        return self._changed(self.dependencies.units.system())

    async def ask_for_change(self, question: Query[R], timeout_s: float | None = None) -> R:
        """Ask another service for a change, once the audit record is committed."""
        await self.record()
        try:
            return await self.dependencies.bus.ask(
                question, self.tenant, timeout_s or self.dependencies.timeouts.query_s
            )
        except Transient as error:
            # An owner that does not answer may have made the change.
            if error.code == "timeout" and self.audit_writer is not None:
                raise uncertain(error, self.audit_writer.request_path) from error
            raise

    async def ask_if_available(self, question: Query[R], tenant: TenantId | None = None) -> R | None:
        """Ask another service for the state before a change, for the audit log. Return None on any error: the change itself is still asked for."""
        try:
            return await self.dependencies.bus.ask(
                question, tenant or self.tenant, self.dependencies.timeouts.query_s
            )
        except MusterError:
            return None

    async def record(self) -> None:
        """Commit the call's audit record in a separate transaction, unless it is committed already or there is none."""
        if (writer := self.audit_writer) is not None and not writer.is_written:
            units, one = self.dependencies.units, len(writer.tenants) == 1
            async with self._recorded(units.tenant(writer.tenants[0]) if one else units.system()):
                pass

    def set_audit_fields(
        self,
        before: Resource | Mapping[str, JsonValue] | None = None,
        after: Resource | Mapping[str, JsonValue] | None = None,
        entity: str | None = None,
        code: str | None = None,
    ) -> None:
        """Set fields of the call's audit record. Call it before the transaction ends.

        Args:
            before: the resource before the change.
            after: the resource after the change.
            entity: the entity as `kind/name`, if the path's default does not fit.
            code: a code for the result, such as `repeated`.
        """
        if (writer := self.audit_writer) is not None:
            writer.before = to_record_fields(before) if before is not None else writer.before
            writer.after = to_record_fields(after) if after is not None else writer.after
            writer.entity, writer.code = entity or writer.entity, code or writer.code

    def also_audit_in(self, tenant: TenantId) -> None:
        """Record the call in the tenant's log too: an operator of the site changes something of the tenant."""
        if self.audit_writer is not None and tenant not in self.audit_writer.tenants:
            self.audit_writer.tenants += (tenant,)

    @asynccontextmanager
    async def _changed(self, opened: AbstractAsyncContextManager[Unit]) -> AsyncIterator[Unit]:
        """Like `_recorded`, and note the commit: steps after it may fail, but the change is made."""
        async with self._recorded(opened) as unit:
            yield unit
        if self.audit_writer is not None:
            self.audit_writer.has_changed = True

    @asynccontextmanager
    async def _recorded(self, opened: AbstractAsyncContextManager[Unit]) -> AsyncIterator[Unit]:
        async with opened as unit:
            yield unit
            if self.audit_writer is not None:
                await self.audit_writer.write(unit)
        if self.audit_writer is not None:
            self.audit_writer.written()

    @property
    def sees_all_experiments(self) -> bool:
        """True if the call may read all experiments of the tenant."""
        return "experiments" not in self.row_filters

    def as_reader(self) -> "Call":
        """Return the call with read permission instead of its own, to read other entities."""
        return replace(self, needed=Permission.EXPERIMENT_READ)

    def as_tenant(self, tenant: TenantId) -> "Call":
        """Return the call in the context of a tenant, without permissions, for callers who are signing in."""
        if self.audit_writer is not None:
            self.audit_writer.tenants = (tenant,)
        return replace(self, caller=replace(UNAUTHENTICATED, tenant=tenant))

    def check_scope(self, needed: Permission, scope: Scope) -> None:
        """Raise Rejected if the caller lacks the permission in the scope. The error reveals nothing about the scope's contents."""
        if not self.caller.grants.holds(needed, scope):
            raise Rejected(
                "forbidden",
                f"you do not have the permission {needed} in {scope}",
                hint="`muster whoami` shows your roles and their scopes",
            )


def check_permission(caller: Caller, needed: Permission | Access, names_object: bool) -> None:
    """Raise Rejected if the caller lacks the permission in every scope; for an operation on one object, raise NotFound instead."""
    if isinstance(needed, Access) or caller.grants.holds(needed):
        return
    if names_object:
        raise NotFound("the object in the path")
    roles = ", ".join(map(str, caller.roles)) or "none"
    raise Rejected(
        "forbidden",
        f"your roles ({roles}) do not include the permission {needed}",
        hint="ask an administrator of your tenant for a role with this permission",
    )
