"""An in-process cache: least-recently-used eviction, optional age limit, and single-flight loading."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.clock import Clock, SystemClock
from shared.telemetry import metrics

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=object)
_SYSTEM_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V
    expires_at_s: float


class Cache(Generic[K, V]):
    """Entries of this process. Not thread-safe; None cannot be stored.

    Args:
        name: Label of the metrics; caches with the same name in one process share it.
        max_entries: Above this number, the least recently used entry is evicted.
        ttl_s: Age at which an entry expires, counted from when it was stored.
    """

    def __init__(
        self, name: str, max_entries: int, ttl_s: float = math.inf, clock: Clock = _SYSTEM_CLOCK
    ) -> None:
        self._max_entries = max_entries
        self._ttl_s = ttl_s
        self._clock = clock
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._loading: dict[K, asyncio.Task[V]] = {}
        self._metrics = metrics.CacheMetrics(name)

    def get(self, key: K) -> V | None:
        """Return the entry's value; None if there is none, or it has expired."""
        entry = self._entries.get(key)
        if entry is None or entry.expires_at_s <= self._clock.monotonic():
            self._metrics.misses.inc()
            return None
        self._entries.move_to_end(key)
        self._metrics.hits.inc()
        return entry.value

    def put(self, key: K, value: V) -> None:
        """Store a value, replacing an earlier one."""
        if self._entries.pop(key, None) is None:
            self._metrics.entries.inc()
        self._entries[key] = _Entry(value, self._clock.monotonic() + self._ttl_s)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)
            self._metrics.entries.dec()
            self._metrics.evictions.inc()

    def pop(self, key: K) -> None:
        """Remove an entry, if there is one."""
        if self._entries.pop(key, None) is not None:
            self._metrics.entries.dec()

    async def load(self, key: K, loader: Callable[[], Awaitable[V]]) -> V:
        """Return the entry's value, or else store and return what `loader` returns.

        Callers that request a key while it is loaded share one loader. Its exception reaches all of them and is not stored. Cancelling a caller does not
        cancel the loader.
        """
        value = self.get(key)
        if value is not None:
            return value
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.create_task(self._load(key, loader))
            # If all callers were cancelled, asyncio would log the error as never retrieved.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _load(self, key: K, loader: Callable[[], Awaitable[V]]) -> V:
        try:
            value = await loader()
            self.put(key, value)
            return value
        finally:
            del self._loading[key]
