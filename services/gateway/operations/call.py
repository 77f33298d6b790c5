"""What a handler is given beside its request: who calls, until when, and the doors to everything else."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

import aiohttp

from muster.errors import NotFound, Rejected
from services.gateway.core.permissions import Access, Permission
from services.gateway.feed import Feed
from shared.bus import Bus, Units
from shared.clock import Clock
from shared.db import Database
from shared.ids import SITE, TenantId


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
    role: str
    permissions: frozenset[Permission]
    expires_at: datetime | None = None


NOBODY = Caller(SITE, "", UUID(int=0), "", "", frozenset())
"""The caller of operations that ask for no access token."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one operation."""

    operation: str
    doors: Doors
    caller: Caller
    idempotency_key: str | None = None
    join_token: str | None = field(default=None, repr=False)
    body: AsyncIterator[bytes] | None = None
    trace_id: str | None = None
    last_event_id: str | None = None
    announce: Callable[[str], Awaitable[None]] | None = None
    """Tells a stream's caller where it stands before the first item, so that a reconnect loses nothing."""

    @property
    def tenant(self) -> TenantId:
        return self.caller.tenant


def check_permission(caller: Caller, needed: Permission | Access, names_object: bool) -> None:
    """Raises Rejected when the caller may not; about one object the answer is that of an absent one."""
    if isinstance(needed, Access) or needed in caller.permissions:
        return
    if names_object:
        raise NotFound("what the path names")
    raise Rejected(
        "forbidden",
        f"the role {caller.role!r} may not do this; it takes the permission {needed}",
        hint="ask an administrator of your tenant for a token with another role",
    )
