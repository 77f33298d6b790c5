"""What handlers reach, as the composition made it: the database, the bus, the events' feed, keys and timeouts."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp

from services.gateway.platform.audit.auditor import Auditor
from services.gateway.platform.auth.sign_in.passwords import Passwords
from services.gateway.platform.auth.sign_in.providers import Providers
from services.gateway.platform.commands.outcomes import OperationOutcome
from services.gateway.platform.events.feed import Feed, View
from services.gateway.platform.events.publishing import Publisher
from services.gateway.platform.events.tails import Tails
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
    """Keys derived from the pepper, one for each use."""

    token: bytes
    cursor: bytes
    answer: bytes
    webhook: bytes
    sign_in: bytes


class AttemptLimiter(Protocol):
    """Limits how often somebody may try to sign in."""

    async def attempt(self, kind: str, who: str) -> None:
        """Count an attempt, whether or not `who` exists. Raises Transient (`rate_limited`)."""


@dataclass(frozen=True, slots=True)
class SignInDependencies:
    """What the proving of people needs, and how long it counts."""

    passwords: Passwords | None
    """None where the site takes none."""
    providers: Providers
    attempts: AttemptLimiter
    idle_s: int
    life_s: int


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a handler waits, in seconds: for other services, and for what it has ordered."""

    validate_s: float
    """For advice that a submission does without."""
    query_s: float
    plan_s: float
    """For an answer that is computed."""
    command_s: float
    poll_s: float
    """Between two looks of a stream that was not woken."""


@dataclass(frozen=True, slots=True)
class UploadSettings:
    """Where the body of an upload is kept until it is stored, and how large it may be."""

    directory: Path
    max_bytes: int


@dataclass(frozen=True, slots=True)
class OutboundSettings:
    """What users may have sent to addresses that they name."""

    networks: tuple[Network, ...]
    """Internal networks that may be called."""
    timeout_s: float
    most_of_tenant: int
    """Addresses of one tenant."""


@dataclass(frozen=True, slots=True)
class SiteState:
    """What the gateway knows of the platform it is part of."""

    version: str
    bus: BusOutage
    health: SiteHealth


CacheKey = tuple[str, View, str, int]
"""Which operation, who asks, for what, and the tenant's version (`Feed.version`): a change makes another key."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything that operations reach: the database, the bus, the events' feed, the store's URLs."""

    database: Database
    units: Units
    bus: Bus
    feed: Feed
    tails: Tails
    publisher: Publisher
    cache: Cache[CacheKey, Resource]
    """What was just shown."""
    creating: PerSender[asyncio.Semaphore]
    """Creates that hold a connection: those of a tenant wait for its counter one after another, and others need connections too."""
    clock: Clock
    keys: Keys
    http: aiohttp.ClientSession
    timeouts: Timeouts
    uploads: UploadSettings
    outbound: OutboundSettings
    wake_deletions: Callable[[], None]
    auditor: Auditor
    sign_in: SignInDependencies
    site: SiteState
    outcomes: Mapping[str, OperationOutcome]
    """How each long operation is seen to have worked, by its name."""
