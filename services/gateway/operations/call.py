"""What a handler is given beside its request: who calls, until when, and the doors to everything else."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

import aiohttp
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound, Rejected
from services.gateway.core.grants import Grants, Held, Place
from services.gateway.core.permissions import BINDINGS, EXPERIMENTS, MODELS, Access, Permission
from services.gateway.feed import Feed
from shared.bus import Bus, Unit, Units
from shared.clock import Clock
from shared.db import Database
from shared.ids import SITE, TenantId

_KINDS = {
    "experiments": EXPERIMENTS,
    "models": MODELS,
    "bindings": BINDINGS,
    "limits": frozenset({Permission.CLUSTER_READ}),
    "templates": frozenset({Permission.POLICY_MANAGE}),
}
"""What row-level security narrows, with the permissions that say to where."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys derived from the pepper, one for each use."""

    token: bytes
    cursor: bytes


@dataclass(frozen=True, slots=True)
class Doors:
    """Everything that operations reach: the database, the bus, the events' feed, the store's URLs."""

    database: Database
    units: Units
    bus: Bus
    feed: Feed
    clock: Clock
    keys: Keys
    http: aiohttp.ClientSession
    uploads: Path
    validate_timeout_s: float
    query_timeout_s: float
    plan_timeout_s: float
    command_wait_s: float
    max_code_bytes: int
    follow_poll_s: float
    version: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; the tenant comes from here alone."""

    tenant: TenantId
    tenant_name: str
    token_id: UUID
    name: str
    grants: Grants
    roles: tuple[Held, ...] = ()
    user: UUID | None = None
    """Whose token it is; None for one that has its role itself."""
    expires_at: datetime | None = None

    @property
    def keeps_site(self) -> bool:
        """True for who sees how much each tenant uses, never for what."""
        return self.grants.holds(Permission.TENANT_READ)


NOBODY = Caller(SITE, "", UUID(int=0), "", Grants({}))
"""The caller of operations that ask for no access token."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one operation."""

    operation: str
    doors: Doors
    caller: Caller
    needed: Permission | Access = Access.PUBLIC
    """What the operation asks of its caller: where that is not held, nothing is found."""
    idempotency_key: str | None = None
    if_match: str | None = None
    """The tags of what the caller saw: only that is to be changed."""
    join_token: str | None = field(default=None, repr=False)
    body: AsyncIterator[bytes] | None = None
    trace_id: str | None = None
    last_event_id: str | None = None
    announce: Callable[[str], Awaitable[None]] | None = None
    """Tells a stream's caller where it stands before the first item, so that a reconnect loses nothing."""

    @property
    def tenant(self) -> TenantId:
        return self.caller.tenant

    @property
    def within(self) -> Mapping[str, str]:
        """What of the tenant the call sees, for row-level security; empty for all of it."""
        return within(self.caller.grants, self.needed)

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A transaction that sees what the caller may do this operation with, and nothing else."""
        return self.doors.database.tenant(self.tenant, self.within)

    def unit(self) -> AbstractAsyncContextManager[Unit]:
        """The same, for what is changed and announced."""
        return self.doors.units.tenant(self.tenant, self.within)

    @property
    def sees_all_experiments(self) -> bool:
        """True where nothing of the tenant's experiments is kept from the call."""
        return "experiments" not in self.within

    def reading(self) -> "Call":
        """The call as one that only looks, where another thing than its own is looked at."""
        return replace(self, needed=Permission.EXPERIMENT_READ)

    def check_place(self, needed: Permission, place: Place) -> None:
        """Raises Rejected where something would be made at a place where the caller may not. It says nothing of what is there."""
        if not self.caller.grants.holds(needed, place):
            raise Rejected(
                "forbidden",
                f"you may not do this in {place}; it takes the permission {needed} there",
                hint="`muster whoami` shows your roles and where they count",
            )


def within(grants: Grants, needed: Permission | Access) -> Mapping[str, str]:
    """By kind of row, where the caller may do what is needed, or else may look; kinds that are seen everywhere are left out."""
    asked = {
        "experiments": Permission.EXPERIMENT_READ,
        "models": Permission.MODEL_READ,
        "templates": Permission.EXPERIMENT_READ,
    }
    if isinstance(needed, Permission):
        asked |= {kind: needed for kind, permissions in _KINDS.items() if needed in permissions}
    found = {kind: grants.within(permission) for kind, permission in asked.items()}
    return {kind: places for kind, places in found.items() if places}


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
