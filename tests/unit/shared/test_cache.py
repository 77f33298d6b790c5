"""A cache keeps the entries used last, for as long as they may be; what several callers need at once is loaded once."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from shared.clock import SystemClock
from shared.runtime.cache import Cache


class StoppedClock(SystemClock):
    """Stands still until it is moved."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Loader:
    """Returns how often it was called; waits while `gate` is shut."""

    def __init__(self) -> None:
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None

    async def load(self) -> int:
        self.calls += 1
        found = self.calls
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return found


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A cache's name, with metrics of its own."""
    return str(request.node.name)


def metric(kind: str, cache: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"muster_cache_{kind}", {"cache": cache, **labels})


def test_the_least_recently_used_entry_is_evicted(name: str) -> None:
    cache = Cache[str, int](name, 2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    cache.put("a", 4)
    cache.put("d", 5)
    assert [cache.get(key) for key in "acd"] == [4, None, 5], "a value that is replaced counts as used"
    cache.pop("a")
    cache.pop("a")
    assert cache.get("a") is None


def test_an_entry_expires_at_its_age_however_often_it_is_used(name: str) -> None:
    clock = StoppedClock()
    cache = Cache[str, int](name, 2, 2.0, clock)
    cache.put("a", 1)
    clock.now_s = 1.9
    assert cache.get("a") == 1
    clock.now_s = 2.0
    assert cache.get("a") is None
    cache.put("a", 2)
    clock.now_s = 3.9
    assert cache.get("a") == 2


async def test_what_is_loaded_is_kept_until_it_expires(name: str) -> None:
    clock, loader = StoppedClock(), Loader()
    cache = Cache[str, int](name, 2, 2.0, clock)
    assert [await cache.load("a", loader.load) for _ in range(2)] == [1, 1]
    assert await cache.load("b", loader.load) == 2
    clock.now_s = 2.0
    assert await cache.load("a", loader.load) == 3


async def test_callers_of_one_key_share_one_load(name: str) -> None:
    cache, loader, other = Cache[str, int](name, 9), Loader(), Loader()
    loader.gate.clear()
    waiting = [asyncio.create_task(cache.load("a", loader.load)) for _ in range(3)]
    assert await cache.load("b", other.load) == 1, "another key does not wait"
    loader.gate.set()
    assert await asyncio.gather(*waiting) == [1, 1, 1]


async def test_an_error_reaches_all_that_wait_and_is_not_kept(name: str) -> None:
    cache, loader = Cache[str, int](name, 9), Loader()
    loader.error = KeyError("a")
    failing = await asyncio.gather(*(cache.load("a", loader.load) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in failing] == [KeyError, KeyError] and loader.calls == 1
    loader.error = None
    assert await cache.load("a", loader.load) == 2


async def test_a_cancelled_caller_takes_nothing_from_the_others(name: str) -> None:
    cache, loader = Cache[str, int](name, 9), Loader()
    loader.gate.clear()
    first, second = (asyncio.create_task(cache.load("a", loader.load)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    loader.gate.set()
    assert await second == 1
    assert await cache.load("a", loader.load) == 1


def test_metrics_tell_hits_misses_evictions_and_entries(name: str) -> None:
    cache = Cache[str, int](name, 2)
    assert metric("entries", name) == 0
    cache.get("a")
    for key in "aabc":
        cache.put(key, 1)
    for key in "bbc":
        cache.get(key)
    assert metric("requests_total", name, outcome="miss") == 1
    assert metric("requests_total", name, outcome="hit") == 3
    assert (metric("evictions_total", name), metric("entries", name)) == (1, 2)
    cache.pop("b")
    cache.pop("b")
    assert metric("entries", name) == 1
