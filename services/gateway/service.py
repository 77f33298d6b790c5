"""Composition of the gateway: creates its components and defines the order of startup and shutdown."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import aiohttp
import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import RedisError

from services.gateway import secrets_files
from services.gateway.deletions import store as deletion_store
from services.gateway.deletions.runner import DeletionRunner
from services.gateway.operation_table import OUTCOMES
from services.gateway.platform.audit.anchors import LEASE, LEASE_S, Anchoring, AnchorStore
from services.gateway.platform.audit.auditor import Auditor
from services.gateway.platform.auth import first_account
from services.gateway.platform.auth.authentication import Authenticator
from services.gateway.platform.auth.permissions import ADMIN, OPERATOR
from services.gateway.platform.auth.sign_in.passwords import Passwords
from services.gateway.platform.auth.sign_in.providers import Providers
from services.gateway.platform.auth.sign_in.sign_in_file import load_sign_in
from services.gateway.platform.auth.store import sessions, tokens as access
from services.gateway.platform.auth.tokens import derive_key, hash_token
from services.gateway.platform.commands import operation_store as long_operations, store as command_store
from services.gateway.platform.dependencies import (
    CacheKey,
    Dependencies,
    Keys,
    OutboundSettings,
    SecretSettings,
    SignInDependencies,
    SiteState,
    Timeouts,
    UploadSettings,
)
from services.gateway.platform.dispatch import Dispatcher
from services.gateway.platform.events import store as events
from services.gateway.platform.events.feed import Feed
from services.gateway.platform.events.publishing import Publisher, Subscribers
from services.gateway.platform.events.shared_readers import Tails
from services.gateway.platform.events.stream_limits import OpenStreams
from services.gateway.platform.limits.buckets import Rate, RateClass
from services.gateway.platform.limits.concurrency import Bounds, ConcurrencyLimits, PerSender
from services.gateway.platform.limits.rate_limits import RateLimiter
from services.gateway.platform.limits.redis_version import find_old_version
from services.gateway.platform.limits.tenant_rates import TenantRates
from services.gateway.platform.schema import Resource
from services.gateway.platform.site_health import SiteHealth
from services.gateway.projections.handlers import handlers_of
from services.gateway.quotas import store as quotas
from services.gateway.sessions import store as sign_in_links
from services.gateway.settings import GatewaySection, Settings
from services.gateway.transports.rest.openapi import API_VERSION
from services.gateway.transports.servers import Servers, tls_of
from services.gateway.user_secrets.local_keys import LocalKeys
from services.gateway.user_secrets.requests import SecretRequests
from services.gateway.user_secrets.rotation import rewrap_all
from services.gateway.webhooks import delivery_store as deliveries, store as webhooks
from services.gateway.webhooks.posting import WebhookPoster
from services.gateway.webhooks.sender import WebhookSender
from shared.bus import Bus, Responder, Units
from shared.bus.health import BusOutage
from shared.bus.republish import republishing
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import DEFAULT_TENANT, derived_id
from shared.infrastructure import Infrastructure
from shared.messages.health import HealthReport
from shared.runtime.cache import Cache
from shared.runtime.loops import repeat
from shared.runtime.process import ServiceProcess

_CREATING_OF_TENANT = 2
"""Concurrent creates per tenant: one holds the tenant's counter, one waits for it in Postgres; more would only occupy connections."""
_REDIS_CONNECTIONS = 16
_REDIS_S = 0.5
"""Timeout before local limits apply when Redis is down. With a shorter one, a busy event loop would look like an outage."""
_MAX_CACHED = 2048
_CACHED_S = 1.0
"""Maximum age of cached resources: a change becomes visible after this time even if the bus does not announce it."""
_SWEEP_EVERY = timedelta(minutes=10)
_REWRAP_EVERY = timedelta(hours=1)
_REDIS_VERSION_EVERY = timedelta(minutes=1)
_KEYS_KEPT = timedelta(hours=24)
NO_ANCHORS = (
    "an administrator of the database can truncate the audit log unnoticed: set MUSTER_GATEWAY__AUDIT_STORE__URL to a store with"
    " Object Lock, or MUSTER_TELEMETRY__OTLP_ENDPOINT"
)
_log = structlog.get_logger()


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Connect to everything that the gateway needs, then open its ports."""
    own = settings.gateway
    pepper = secrets_files.pepper(own.pepper_file or own.admin_token_file.with_name("gateway.pepper"))
    names = ("token", "cursor", "answer", "webhook", "sign-in")
    keys = Keys(*(derive_key(pepper, name) for name in names))
    rules = load_sign_in(own.sign_in_file)
    master_keys = LocalKeys.load(own.secrets.key_file, own.secrets.keys, derive_key(pepper, "secrets"))
    secrets = SecretSettings(master_keys, own.secrets.max_per_workspace)
    infrastructure = await Infrastructure.connect(process, settings.postgres, settings.nats)
    clock, database = infrastructure.clock, infrastructure.database
    bus, units = infrastructure.bus, infrastructure.units
    await process.reach("postgres", lambda: ensure_admin(database, own.admin_token_file, keys, clock))
    feed = Feed(bus)
    await feed.start()
    infrastructure.publish()

    poster = await process.enter(WebhookPoster(own.webhooks.allowed_networks, own.webhooks.timeout_s))
    sender = WebhookSender(database, poster, keys.webhook, clock, own.webhooks)
    process.start("webhooks", sender.run, sender.stop)

    publisher = Publisher(feed, Subscribers(webhooks.has_webhooks, webhooks.intend, sender.wake))
    deletions = DeletionRunner(units, publisher, clock)
    process.start("deletions", deletions.run)
    projections = handlers_of(publisher, deletions)
    infrastructure.consume("events", projections, units.with_first_statement(events.feed_lock))
    infrastructure.consume("commands", republishing("gateway"))
    process.start("rewrap", lambda: repeat(partial(rewrap_all, database, secrets.keys), _REWRAP_EVERY))
    process.start("sweep", lambda: repeat(partial(_sweep, database, own, clock), _SWEEP_EVERY))

    http = await process.enter(
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600, sock_connect=5))
    )
    auditor = Auditor(database, clock)
    process.start("audit", auditor.run)
    process.on_close(auditor.flush)
    anchors = _anchor_store(settings, process, clock)
    anchoring = Anchoring(
        database,
        infrastructure.lease(LEASE, LEASE_S),
        anchors,
        clock,
        partial(process.health.warn, "anchors"),
    )
    process.start_until_stopped("audit anchors", anchoring.run)
    await _answer(process, bus, SecretRequests(bus, units, secrets.keys, auditor).answers())
    rate_limiter = RateLimiter(_redis(settings, process), _rates(own), clock)
    providers = await process.enter(Providers(rules.providers, clock))
    key = derive_key(pepper, "password")
    passwords = Passwords(key, own.password_memory_kib) if own.passwords else None
    sign_in = SignInDependencies(
        passwords, providers, rate_limiter, own.session_idle_timeout_s, own.session_lifetime_s
    )
    watched = (BusOutage(process.health, infrastructure.relay, clock), process.readiness)
    dependencies = make_dependencies(
        settings,
        database,
        units,
        bus,
        publisher,
        clock,
        keys,
        http,
        secrets,
        auditor,
        anchors,
        deletions.wake,
        sign_in,
        watched,
    )
    authenticator = Authenticator(database, keys.token, clock, providers, rules.certificates)
    allowances = TenantRates(database, quotas.load_rates, clock)
    streams = OpenStreams(own.max_streams_per_tenant)
    dispatcher = Dispatcher(
        dependencies,
        authenticator,
        rate_limiter,
        allowances,
        _concurrency(own),
        own.deadline_s,
        own.upload_deadline_s,
        streams,
    )
    servers = Servers(dispatcher, own, feed, tls_of(own))
    await servers.open()
    servers.start(process)
    process.mark_ready()


async def _answer(process: ServiceProcess, bus: Bus, answers: Mapping[Question, Answer]) -> None:
    """Answer questions of workers until the process ends; return once the subscriptions exist."""
    answering = asyncio.Event()

    async def answer(stopping: asyncio.Event) -> None:
        async with Responder(bus, "gateway", answers):
            answering.set()
            await stopping.wait()

    process.start_until_stopped("answers", answer)
    await answering.wait()


async def ensure_admin(database: Database, path: Path, keys: Keys, clock: Clock) -> None:
    """Create the default tenant and the token of the admin token file if they are missing. The token's account administers the tenant and operates the site."""
    token = secrets_files.admin_token(path)
    hashed = hash_token(keys.token, token)
    async with database.system() as connection:
        await access.ensure_tenant(connection, DEFAULT_TENANT, "default", clock.now())
        account = await first_account.ensure_first_account(
            connection, DEFAULT_TENANT, (ADMIN, OPERATOR), clock.now()
        )
        values = {
            "tenant": DEFAULT_TENANT,
            "id": derived_id(DEFAULT_TENANT, "token", hashed.hex()),
            "name": first_account.FIRST_ACCOUNT,
            "role": ADMIN,
            "hash": hashed,
            "created_at": clock.now(),
            "account": account,
        }
        await access.ensure_token(connection, values)


def make_dependencies(
    settings: Settings,
    database: Database,
    units: Units,
    bus: Bus,
    publisher: Publisher,
    clock: Clock,
    keys: Keys,
    http: aiohttp.ClientSession,
    secrets: SecretSettings,
    auditor: Auditor,
    anchors: AnchorStore | None,
    wake_deletions: Callable[[], None],
    sign_in: SignInDependencies,
    watched: tuple[BusOutage, Callable[[], HealthReport]],
) -> Dependencies:
    """Create the dependencies of operations. `watched`: bus outage state, and readiness of this process."""
    own = settings.gateway
    spool = own.spool_directory or own.admin_token_file.parent / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    return Dependencies(
        database=database,
        units=units,
        bus=bus,
        feed=publisher.feed,
        tails=Tails(own.follow_poll_s),
        publisher=publisher,
        cache=resource_cache(clock),
        create_slots=PerSender(lambda: asyncio.Semaphore(_CREATING_OF_TENANT)),
        clock=clock,
        keys=keys,
        http=http,
        timeouts=Timeouts(
            validate_s=own.validate_timeout_s,
            query_s=own.query_timeout_s,
            plan_s=own.plan_timeout_s,
            command_s=own.command_wait_s,
            poll_s=own.follow_poll_s,
        ),
        uploads=UploadSettings(spool, own.max_code_bytes),
        outbound=OutboundSettings(
            own.webhooks.allowed_networks, own.webhooks.timeout_s, own.webhooks.max_per_tenant
        ),
        secrets=secrets,
        wake_deletions=wake_deletions,
        auditor=auditor,
        anchors=anchors,
        sign_in=sign_in,
        site=SiteState(API_VERSION, watched[0], SiteHealth(watched[1], bus, clock)),
        outcomes=OUTCOMES,
    )


def resource_cache(clock: Clock) -> Cache[CacheKey, Resource]:
    """Create the cache of experiments that were just read."""
    return Cache("experiments", _MAX_CACHED, _CACHED_S, clock)


def _anchor_store(settings: Settings, process: ServiceProcess, clock: Clock) -> AnchorStore | None:
    """Return the store of audit anchors, whose test runs in the background; warn in the status if nothing anchors the audit log."""
    wanted, has_otlp = settings.gateway.audit_store, settings.telemetry.otlp_endpoint is not None
    if wanted is None:
        if not has_otlp:
            process.health.warn("audit", NO_ANCHORS)
        return None
    # Imported here: the client needs memory that sites without such a store do not need.
    from shared.objects.s3_retained import S3RetainedObjects

    objects = S3RetainedObjects.of(wanted, clock)
    process.on_close(objects.close)
    anchors = AnchorStore(objects, wanted.bucket, timedelta(days=wanted.retention_days), clock)

    async def test() -> None:
        if not await process.reach("audit store", anchors.test):
            process.health.warn(
                "audit",
                f"the bucket {wanted.bucket} does not retain objects (Object Lock): no audit anchors are stored in it;"
                + (" they are sent through OTLP only" if has_otlp else f" {NO_ANCHORS}"),
            )

    process.start("audit store", test)
    return anchors


def _redis(settings: Settings, process: ServiceProcess) -> Redis | None:
    if settings.redis is None:
        return None
    redis = Redis.from_pool(
        BlockingConnectionPool.from_url(
            settings.redis.url.get_secret_value(),
            max_connections=_REDIS_CONNECTIONS,
            timeout=_REDIS_S,
            socket_timeout=_REDIS_S,
            socket_connect_timeout=_REDIS_S,
            retry=None,
        )
    )
    process.on_close(redis.aclose)
    if not settings.redis.url.get_secret_value().startswith("unix:"):
        # A server on a private socket serves this machine only (decision 0290).
        process.start(
            "redis version", lambda: repeat(partial(_check_redis, redis, process), _REDIS_VERSION_EVERY)
        )
    return redis


async def _check_redis(redis: Redis, process: ServiceProcess) -> None:
    """Show an old server in the health report. Outages are the rate limiter's to report."""
    with suppress(RedisError, OSError, TimeoutError):
        process.health.warn("redis", await find_old_version(redis))


def _rates(own: GatewaySection) -> dict[RateClass, Rate]:
    per_s = {
        RateClass.READ: own.reads_per_s,
        RateClass.WRITE: own.writes_per_s,
        RateClass.STREAM: own.streams_per_s,
        RateClass.JOIN: own.joins_per_s,
    }
    return {rate_class: Rate(rate, rate * 2) for rate_class, rate in per_s.items()}


def _concurrency(own: GatewaySection) -> ConcurrencyLimits:
    timeout_s = own.queue_timeout_s
    return ConcurrencyLimits(
        replica=Bounds(own.max_concurrent_requests, own.max_queued_requests, timeout_s),
        working=Bounds(own.max_concurrent_requests_per_tenant, own.max_queued_requests_per_tenant, timeout_s),
        waiting=Bounds(own.max_waiting_requests_per_tenant, own.max_queued_requests_per_tenant, timeout_s),
        upload=Bounds(own.max_uploads_per_tenant, own.max_queued_requests_per_tenant, timeout_s),
    )


async def _sweep(database: Database, own: GatewaySection, clock: Clock) -> None:
    """Delete expired rows: idempotency keys, operations, deletions, deliveries, sessions, sign-in links and events."""
    async with database.system() as connection:
        await command_store.sweep(connection, clock.now(), _KEYS_KEPT)
        await long_operations.sweep(connection, clock.now(), _KEYS_KEPT)
        await deletion_store.sweep(connection, clock.now(), _KEYS_KEPT)
        delivered, dead = own.webhooks.delivered_retention_days, own.webhooks.dead_letter_retention_days
        await deliveries.sweep(connection, clock.now(), timedelta(days=delivered), timedelta(days=dead))
        await sessions.sweep(connection, clock.now())
        await sign_in_links.sweep(connection, clock.now())
    # A separate transaction, because it locks the counters of tenants, for which their creates wait.
    async with database.system() as connection:
        await events.sweep_feeds(connection, clock.now(), timedelta(days=own.event_retention_days))
