"""The dependencies of handlers, built by `service`: database, bus, event feed, keys and timeouts."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp

from services.gateway.platform.audit.anchors import AnchorStore
from services.gateway.platform.audit.auditor import Auditor
from services.gateway.platform.auth.sign_in.passwords import Passwords
from services.gateway.platform.auth.sign_in.providers import Providers
from services.gateway.platform.commands.outcomes import OperationOutcome
from services.gateway.platform.events.feed import Feed, View
from services.gateway.platform.events.publishing import Publisher
from services.gateway.platform.events.shared_readers import Tails
from services.gateway.platform.limits.concurrency import PerSender
from services.gateway.platform.outbound.addresses import Network
from services.gateway.platform.schema import Resource
from services.gateway.platform.site_health import SiteHealth
from shared.bus import Bus, Units
from shared.bus.health import BusOutage
from shared.clock import Clock
from shared.database.engine import Database
from shared.runtime.cache import Cache


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys derived from the pepper, one per purpose."""

    token: bytes
    cursor: bytes
    answer: bytes
    webhook: bytes
    sign_in: bytes


class AttemptLimiter(Protocol):
    """Limits the rate of sign-in attempts."""

    async def attempt(self, kind: str, who: str) -> None:
        """Count a sign-in attempt for an account or from an address, whether or not the account exists. Raises Transient (`rate_limited`)."""


@dataclass(frozen=True, slots=True)
class SignInDependencies:
    """Dependencies of sign-in, and the lifetime of sessions: `idle_s` without use, `life_s` in total."""

    passwords: Passwords | None
    """None if the site does not accept passwords."""
    providers: Providers
    attempts: AttemptLimiter
    idle_s: int
    life_s: int


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts of handlers, in seconds."""

    validate_s: float
    """For optional validation by other services."""
    query_s: float
    plan_s: float
    """For cost estimates, which are computed on request."""
    command_s: float
    poll_s: float
    """Interval at which streams poll if nothing wakes them."""


@dataclass(frozen=True, slots=True)
class UploadSettings:
    """The spool directory for bodies of uploads, and their maximum size."""

    directory: Path
    max_bytes: int


@dataclass(frozen=True, slots=True)
class OutboundSettings:
    """Limits on calls to addresses that users name."""

    networks: tuple[Network, ...]
    """Internal networks that may be called."""
    timeout_s: float
    max_per_tenant: int
    """Maximum number of addresses of one tenant."""


class MasterKeys(Protocol):
    """Port for the master keys of user secrets: local keys, or a key management service (KMS), which never discloses them.

    `context` is authenticated: a key wrapped with one context cannot be unwrapped with another.
    """

    @property
    def current(self) -> str:
        """Id of the key that wraps new data keys."""
        ...

    async def wrap(self, data_key: bytes, context: bytes) -> bytes:
        """Encrypt a data key with the current master key."""
        ...

    async def unwrap(self, key_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Decrypt a data key. Raises Broken if the master key is unknown, or key, context or bytes differ."""
        ...


@dataclass(frozen=True, slots=True)
class SecretSettings:
    """Master keys of user secrets, and the maximum number of secrets of a workspace."""

    keys: MasterKeys
    max_per_workspace: int


@dataclass(frozen=True, slots=True)
class SiteState:
    """The state of the platform, as this replica knows it."""

    version: str
    bus: BusOutage
    health: SiteHealth


CacheKey = tuple[str, View, str, int]
"""Operation, view, reference, and the tenant's version (`Feed.version`), so that every change of the tenant invalidates its entries."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of all operations."""

    database: Database
    units: Units
    bus: Bus
    feed: Feed
    tails: Tails
    publisher: Publisher
    cache: Cache[CacheKey, Resource]
    """Recent responses."""
    create_slots: PerSender[asyncio.Semaphore]
    """Limits the database connections of a tenant's creates, which wait for the tenant's counter one after another."""
    clock: Clock
    keys: Keys
    http: aiohttp.ClientSession
    timeouts: Timeouts
    uploads: UploadSettings
    outbound: OutboundSettings
    secrets: SecretSettings
    wake_deletions: Callable[[], None]
    auditor: Auditor
    anchors: AnchorStore | None
    """External anchors of the audit chains; None if the site has no store for them."""
    sign_in: SignInDependencies
    site: SiteState
    outcomes: Mapping[str, OperationOutcome]
    """Outcome finders of the long operations, by operation name."""
