"""Derives the asynchronous client from the synchronous one: calls run in threads, so that retries, paging and streaming exist once."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, Generic, ParamSpec, TypeVar

from pydantic import BaseModel

from muster.client.http.paging import Items

P = ParamSpec("P")
ResourceT_co = TypeVar("ResourceT_co", covariant=True)
R = TypeVar("R")
ItemT = TypeVar("ItemT", bound=BaseModel)
_END = object()


class AsyncAPIResource(Generic[ResourceT_co]):
    """A resource of the synchronous client, with its calls in threads of `pool`."""

    def __init__(self, resource: ResourceT_co, pool: ThreadPoolExecutor) -> None:
        self._resource = resource
        self._pool = pool


class AsyncItems(Generic[ItemT]):
    """A list that is fetched page by page in `async for`; each iteration fetches it again."""

    def __init__(self, items: Items[ItemT], pool: ThreadPoolExecutor) -> None:
        self._items = items
        self._pool = pool

    def __aiter__(self) -> AsyncIterator[ItemT]:
        return _walk(lambda: iter(self._items), self._pool)

    async def first(self, count: int) -> list[ItemT]:
        """Return the first `count` items, or fewer when there are no more."""
        return await _in_thread(self._pool, lambda: self._items.first(count))

    async def all(self) -> list[ItemT]:
        """Return every item."""
        return await _in_thread(self._pool, self._items.all)


def awaited(
    call: Callable[Concatenate[ResourceT_co, P], R],
) -> Callable[Concatenate[AsyncAPIResource[ResourceT_co], P], Awaitable[R]]:
    """Wrap a call as a coroutine."""

    @functools.wraps(call)
    async def answer(self: AsyncAPIResource[ResourceT_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _in_thread(self._pool, lambda: call(self._resource, *args, **kwargs))

    return answer


def listed(
    call: Callable[Concatenate[ResourceT_co, P], Items[ItemT]],
) -> Callable[Concatenate[AsyncAPIResource[ResourceT_co], P], AsyncItems[ItemT]]:
    """Wrap a call that returns items to fetch during iteration; the call itself fetches nothing."""

    @functools.wraps(call)
    def answer(
        self: AsyncAPIResource[ResourceT_co], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncItems[ItemT]:
        return AsyncItems(call(self._resource, *args, **kwargs), self._pool)

    return answer


def streamed(
    call: Callable[Concatenate[ResourceT_co, P], Iterator[R]],
) -> Callable[Concatenate[AsyncAPIResource[ResourceT_co], P], AsyncIterator[R]]:
    """Wrap a call that yields items as an asynchronous iterator."""

    @functools.wraps(call)
    def answer(
        self: AsyncAPIResource[ResourceT_co], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[R]:
        return _walk(lambda: call(self._resource, *args, **kwargs), self._pool)

    return answer


async def _walk(begin: Callable[[], Iterator[R]], pool: ThreadPoolExecutor) -> AsyncIterator[R]:
    items = begin()
    while True:
        item = await _in_thread(pool, lambda: next(items, _END))
        if item is _END:
            return
        yield item  # type: ignore[misc]


async def _in_thread(pool: ThreadPoolExecutor, call: Callable[[], R]) -> R:
    return await asyncio.get_running_loop().run_in_executor(pool, call)
