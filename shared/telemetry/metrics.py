"""Prometheus metrics: rate, errors and duration of every operation; outbox age, consumer lag and lease age.

Exemplars link a metric to a trace (only in the OpenMetrics format, which Prometheus requests).
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from shared.telemetry.tracing import trace_id

PLAIN_TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text"

_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SLOW_S = 0.05
_EXEMPLAR_EVERY_S = 1.0
_OPERATIONS = Counter("muster_operations", "Operations done, by outcome", ["service", "operation", "outcome"])
_SECONDS = Histogram(
    "muster_operation_seconds", "How long operations took", ["service", "operation"], buckets=_BUCKETS_S
)
_OUTBOX_AGE = Gauge("muster_outbox_age_seconds", "Age of the oldest message not yet published", ["service"])
_CONSUMER_LAG = Gauge("muster_consumer_lag", "Messages waiting for a consumer", ["consumer"])
_LEASE_AGE = Gauge(
    "muster_lease_age_seconds", "Time since a lease was last renewed by its holder here", ["lease"]
)
_DEAD_LETTERS = Counter(
    "muster_dead_letters",
    "Messages that could not be handled and were moved to the dead-letter stream",
    ["consumer"],
)
_STORE_ERRORS = Counter(
    "muster_object_store_errors",
    "Requests to the object store that failed, by S3 error code, HTTP status or exception",
    ["operation", "error_type"],
)
_REQUESTS = Counter("muster_gateway_requests", "Requests to the gateway, by outcome", ["class", "outcome"])
_REJECTIONS = Counter("muster_gateway_rejections", "Requests over a limit, by the limit", ["class", "reason"])
_ACTIVE_REQUESTS = Gauge("muster_gateway_active_requests", "Requests in progress or queued", ["class"])
_QUEUED_REQUESTS = Gauge(
    "muster_gateway_queued_requests", "Requests waiting for a concurrency limit", ["limit"]
)
_QUEUE_WAIT = Histogram(
    "muster_gateway_queue_wait_seconds",
    "How long queued requests waited for a concurrency limit",
    ["limit"],
    buckets=_BUCKETS_S,
)
_LOCAL_RATE_LIMITS = Gauge(
    "muster_gateway_local_rate_limits", "1 while Redis is down and each replica allows half of each rate"
)

_HEALTH_CHECK = Gauge(
    "muster_health_check",
    "1 while a dependency of the service works, 0 while its check fails",
    ["service", "check"],
)
_CONNECTIONS = Gauge(
    "db_client_connection_count",
    "Connections of a pool by state: used or idle",
    ["db_client_connection_pool_name", "db_client_connection_state"],
)
_CONNECTIONS_MAX = Gauge(
    "db_client_connection_max", "Most connections that a pool may have", ["db_client_connection_pool_name"]
)
_CONNECTION_WAIT = Histogram(
    "db_client_connection_wait_time_seconds",
    "Time to obtain a connection from a pool",
    ["db_client_connection_pool_name"],
    buckets=_BUCKETS_S,
)
_CACHE_REQUESTS = Counter("muster_cache_requests", "Lookups in a cache", ["cache", "outcome"])
_CACHE_EVICTIONS = Counter(
    "muster_cache_evictions", "Entries removed because the cache held its maximum", ["cache"]
)
_CACHE_ENTRIES = Gauge("muster_cache_entries", "Entries in a cache", ["cache"])


class CacheMetrics:
    """Metrics of one cache, with resolved labels."""

    def __init__(self, cache: str) -> None:
        self.hits = _CACHE_REQUESTS.labels(cache, "hit")
        self.misses = _CACHE_REQUESTS.labels(cache, "miss")
        self.evictions = _CACHE_EVICTIONS.labels(cache)
        self.entries = _CACHE_ENTRIES.labels(cache)


class Observed:
    """Context manager for a timed operation. A class, because a generator's `with` costs more than the counting."""

    __slots__ = ("_operation", "_service", "_started")

    def __init__(self, service: str, operation: str) -> None:
        self._service = service
        self._operation = operation

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        outcome = _outcome_of(error) if isinstance(error, BaseException) else "ok"
        observe(self._service, self._operation, outcome, time.perf_counter() - self._started)


def observed(service: str, operation: str) -> Observed:
    """Count the operation inside, its duration, and whether it raised."""
    return Observed(service, operation)


@dataclass(slots=True)
class _Series:
    """Metrics of one operation with one outcome, and when the next fast success gets an exemplar."""

    count: Counter
    duration: Histogram
    _due_s: float = -math.inf

    def is_due(self) -> bool:
        """Return whether a fast success gets an exemplar now; the next one is due a second later."""
        now_s = time.monotonic()
        if now_s < self._due_s:
            return False
        self._due_s = now_s + _EXEMPLAR_EVERY_S
        return True


def observe(service: str, operation: str, outcome: str, seconds: float) -> None:
    """Count one operation that was timed elsewhere; `outcome` is `ok` or the error's branch.

    Failed and slow operations always get an exemplar; fast successes get one per second, because an exemplar costs as much as the counting.
    """
    series, is_ok = _series(service, operation, outcome), outcome == "ok"
    exemplar = None
    if not is_ok or seconds >= _SLOW_S or series.is_due():
        trace = trace_id()
        exemplar = {"trace_id": trace} if trace else None
    # Successes have their exemplar in the duration histogram.
    series.count.inc(exemplar=None if is_ok else exemplar)
    series.duration.observe(seconds, exemplar=exemplar)


def outbox_age(service: str, age_s: float) -> None:
    """Set the age of the oldest unpublished row of a service's outbox; 0 if there is none."""
    _OUTBOX_AGE.labels(service).set(age_s)


def consumer_lag(consumer: str, waiting: int) -> None:
    """Set the number of messages that wait for a consumer."""
    _CONSUMER_LAG.labels(consumer).set(waiting)


def dead_letter(consumer: str) -> None:
    """Count a dead letter."""
    _DEAD_LETTERS.labels(consumer).inc()


def object_store_error(operation: str, error_type: str) -> None:
    """Count a failed request to the object store; a missing object is not a failure."""
    _STORE_ERRORS.labels(operation, error_type).inc()


@contextmanager
def request(rate_class: str) -> Iterator[None]:
    """Count a request of a rate class: as active while it runs, then by outcome."""
    active, outcome = _ACTIVE_REQUESTS.labels(rate_class), "ok"
    active.inc()
    try:
        yield
    except BaseException as error:
        outcome = _outcome_of(error)
        raise
    finally:
        active.dec()
        _REQUESTS.labels(rate_class, outcome).inc()


def rejection(rate_class: str, reason: str) -> None:
    """Count a request that was rejected because of a limit."""
    _REJECTIONS.labels(rate_class, reason).inc()


@contextmanager
def queued(limit: str) -> Iterator[None]:
    """Count a request that waits for a concurrency limit, and time the wait."""
    with _QUEUED_REQUESTS.labels(limit).track_inprogress(), _QUEUE_WAIT.labels(limit).time():
        yield


def rate_limits_local(is_local: bool) -> None:
    """Set whether rate limits are local because Redis is down."""
    _LOCAL_RATE_LIMITS.set(1 if is_local else 0)


def lease_age(lease: str, age_s: float) -> None:
    """Set the time since the holder renewed a lease."""
    _LEASE_AGE.labels(lease).set(age_s)


def health_check(service: str, check: str, *, is_ok: bool) -> None:
    """Set whether a health check of a service passes."""
    _HEALTH_CHECK.labels(service, check).set(1 if is_ok else 0)


def watch_connection_pool(
    pool: str, most: int, used: Callable[[], int], idle: Callable[[], int]
) -> Histogram:
    """Export the state of a database connection pool at each scrape; return the histogram of its wait time in seconds."""
    _CONNECTIONS_MAX.labels(pool).set(most)
    _CONNECTIONS.labels(pool, "used").set_function(used)
    _CONNECTIONS.labels(pool, "idle").set_function(idle)
    return _CONNECTION_WAIT.labels(pool)


def exposition(accept: str) -> tuple[bytes, str]:
    """Return all metrics and their content type; with exemplars for clients that accept OpenMetrics."""
    if OPEN_METRICS in accept:
        body: bytes = openmetrics.generate_latest(REGISTRY)  # type: ignore[no-untyped-call]
        return body, openmetrics.CONTENT_TYPE_LATEST
    return generate_latest(REGISTRY), PLAIN_TEXT


def _outcome_of(error: BaseException) -> str:
    """Return the error's branch of the tree, `error` for others, `cancelled` for cancellations."""
    return str(getattr(error, "kind", "error" if isinstance(error, Exception) else "cancelled"))


@lru_cache(maxsize=4096)
def _series(service: str, operation: str, outcome: str) -> _Series:
    """Cached, because label lookups cost more than the counting."""
    return _Series(_OPERATIONS.labels(service, operation, outcome), _SECONDS.labels(service, operation))
