"""Concurrency limits: how many requests of a tenant, and of a replica, are in progress at a time, and how many wait."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from services.gateway.limits.exceeded import Limit, LimitExceeded
from shared.ids import TenantId
from shared.telemetry import metrics

T = TypeVar("T")
_RETRY_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """`concurrent` requests are in progress; `queued` more wait, each for at most `timeout_s`."""

    concurrent: int
    queued: int
    timeout_s: float


class ConcurrencyLimit:
    """Admits requests in the order in which they came."""

    def __init__(self, limit: Limit, bounds: Bounds) -> None:
        self._limit = limit
        self._bounds = bounds
        self._free = asyncio.Semaphore(bounds.concurrent)
        self._queued = 0

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold one of the places, once there is one.

        Raises:
            LimitExceeded: the queue is full, or the request has waited in it for too long.
        """
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self) -> None:
        bounds = self._bounds
        if self._queued >= bounds.queued:
            raise self._exceeded(f"{bounds.queued} more are queued")
        self._queued += 1
        try:
            with metrics.queued(self._limit):
                async with asyncio.timeout(bounds.timeout_s):
                    await self._free.acquire()
        except TimeoutError:
            raise self._exceeded(f"this one was queued for {bounds.timeout_s:g} s") from None
        finally:
            self._queued -= 1

    def _exceeded(self, why: str) -> LimitExceeded:
        whose = "this replica" if self._limit == "replica_concurrency" else "your tenant"
        message = f"{whose} has {self._bounds.concurrent} requests in progress, and {why}; try again later"
        return LimitExceeded(self._limit, message, _RETRY_AFTER_S)


class PerTenant(Generic[T]):
    """One object for each tenant, kept as long as it is in use."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._of: WeakValueDictionary[TenantId, T] = WeakValueDictionary()

    def of(self, tenant: TenantId) -> T:
        """The tenant's, made when there is none."""
        found = self._of.get(tenant)
        if found is None:
            found = self._of[tenant] = self._make()
        return found


class ConcurrencyLimits:
    """A limit of each tenant, below that of the replica, so that one tenant cannot occupy the replica.

    Long requests wait for other services most of the time: they have a limit of the tenant of their own, so that they occupy no place of a short one.
    """

    def __init__(self, replica: Bounds, tenant: Bounds, long_of_tenant: Bounds) -> None:
        self._replica = ConcurrencyLimit("replica_concurrency", replica)
        self._short = PerTenant(lambda: ConcurrencyLimit("tenant_concurrency", tenant))
        self._long = PerTenant(lambda: ConcurrencyLimit("tenant_concurrency", long_of_tenant))

    @asynccontextmanager
    async def hold(self, tenant: TenantId, *, is_long: bool = False) -> AsyncIterator[None]:
        """Hold a place of the tenant, and of the replica if the request is short. Raises LimitExceeded."""
        if is_long:
            async with self._long.of(tenant).hold():
                yield
        else:
            async with self._short.of(tenant).hold(), self._replica.hold():
                yield
