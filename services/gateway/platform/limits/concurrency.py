"""Concurrency limits: how many requests of a tenant, and of a replica, are in progress at a time, and how many wait."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar
from weakref import WeakValueDictionary

from services.gateway.platform.limits.exceeded import Limit, LimitExceeded
from shared.ids import TenantId
from shared.telemetry import metrics

T = TypeVar("T")
Occupied = Literal["working", "waiting", "upload"]
"""The main activity of a request: keep the replica busy, wait for another service, or send its body."""
SenderKey = TenantId | str
"""A tenant, or the address of a caller without a token."""
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
        """Count the request as in progress until the block ends; wait in the queue if the limit is reached.

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
        of_replica = self._limit == "replica_concurrency"
        whose = "this replica" if of_replica else "your tenant, or your address if you sent no token,"
        message = f"{whose} has {self._bounds.concurrent} requests in progress, and {why}; try again later"
        return LimitExceeded(self._limit, message, _RETRY_AFTER_S)


class PerSender(Generic[T]):
    """One object for each sender of requests, kept as long as it is in use."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._of: WeakValueDictionary[SenderKey, T] = WeakValueDictionary()

    def of(self, sender: SenderKey) -> T:
        """Return the sender's object; create it if there is none."""
        found = self._of.get(sender)
        if found is None:
            found = self._of[sender] = self._make()
        return found


class ConcurrencyLimits:
    """A limit of each sender, below that of the replica, so that one sender cannot occupy the replica.

    Requests that wait for other services, and uploads, have separate limits per sender, so that they do not block requests that the replica works on.
    """

    def __init__(self, replica: Bounds, working: Bounds, waiting: Bounds, upload: Bounds) -> None:
        self._replica = ConcurrencyLimit("replica_concurrency", replica)
        self._of_sender = {
            kind: PerSender(partial(ConcurrencyLimit, "tenant_concurrency", bounds))
            for kind, bounds in (("working", working), ("waiting", waiting), ("upload", upload))
        }

    @asynccontextmanager
    async def hold(self, sender: SenderKey, occupied: Occupied) -> AsyncIterator[None]:
        """Count a request against the sender's limit and, if the replica works on it, the replica's. Raises LimitExceeded."""
        async with self._of_sender[occupied].of(sender).hold():
            if occupied != "working":
                yield
                return
            async with self._replica.hold():
                yield
