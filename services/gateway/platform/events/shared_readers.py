"""Shares one reader of a growing sequence (a tenant's events, a trial's points) among all streams with the same view, so that a thousand idle streams cost as much as one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from services.gateway.platform.events.feed import Waiter

MAX_HELD_ITEMS = 256
"""Number of items held for streams. A stream that is further behind reads by itself."""


class Ordered(Protocol):
    """A position in a sequence. Later positions are greater."""

    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...


P = TypeVar("P", bound=Ordered)
I = TypeVar("I")  # noqa: E741


@dataclass(frozen=True, slots=True)
class PositionedItem(Generic[P, I]):
    """An item and its position."""

    position: P
    item: I


@dataclass(frozen=True, slots=True)
class TailPage(Generic[P, I]):
    """The visible items after a position up to `end`, oldest first. `is_last`: there are no items after `end` yet; `is_over`: there will never be."""

    items: Sequence[PositionedItem[P, I]]
    end: P
    is_last: bool
    is_over: bool = False


Read = Callable[[P], Awaitable[TailPage[P, I]]]
"""Reads the items after a position, filtered for one view."""
Waiting = Callable[[], AbstractAsyncContextManager[Waiter]]
"""Opens a waiter for changes."""


class Tail(Generic[P, I]):
    """The end of a growing sequence for one view. It holds all items after `begin` up to `end`."""

    def __init__(self, begin: P) -> None:
        self.begin = self.end = begin
        self.is_over = False
        self._held: deque[PositionedItem[P, I]] = deque()
        self._advanced = asyncio.Event()
        self._failure: BaseException | None = None

    async def follow(self, read: Read[P, I], wait: Callable[[], Awaitable[None]]) -> None:
        """Read new items at each wake, until the sequence is over, the task is cancelled or a read fails."""
        while not self.is_over:
            page = await read(self.end)
            self._hold(page)
            if page.is_last and not page.is_over:
                await wait()

    def fail(self, error: BaseException) -> None:
        """Raise the error of the reader in all streams that follow."""
        self._failure = error
        self._advanced.set()

    def since(self, position: P) -> list[PositionedItem[P, I]]:
        """Return the held items after `position`, oldest first. `position` must not be before `begin`."""
        newer: list[PositionedItem[P, I]] = []
        for positioned in reversed(self._held):
            if positioned.position <= position:
                break
            newer.append(positioned)
        return newer[::-1]

    async def wait_beyond(self, position: P) -> bool:
        """Wait until there may be items after `position`. Return False if there will never be. Raises the error of the reader."""
        while self.end <= position and self._failure is None and not self.is_over:
            await self._advanced.wait()
        if self._failure is not None:
            raise self._failure
        return position < self.end

    def _hold(self, page: TailPage[P, I]) -> None:
        if page.end <= self.end and not page.is_over:
            return
        self._held.extend(page.items)
        self.end, self.is_over = page.end, page.is_over
        while len(self._held) > MAX_HELD_ITEMS:
            self.begin = self._held.popleft().position
        self._advanced.set()
        self._advanced = asyncio.Event()


@dataclass(slots=True)
class _Followed:
    tail: Tail[Any, Any]
    reading: asyncio.Task[None]
    streams: int = 0


class Tails:
    """The tails of this process. Each exists as long as a stream follows it."""

    def __init__(self, poll_s: float) -> None:
        self._poll_s = poll_s
        self._followed: dict[Hashable, _Followed] = {}

    @contextmanager
    def following(self, key: Hashable, begin: P, read: Read[P, I], waiting: Waiting) -> Iterator[Tail[P, I]]:
        """Yield the tail for `key`. A new tail starts after `begin`, and `read` extends it at each change."""
        one = self._followed.get(key)
        if one is None or one.reading.done():
            tail = Tail[P, I](begin)
            reading = asyncio.create_task(self._read(tail, read, waiting))
            reading.add_done_callback(partial(_pass_on, tail))
            one = self._followed[key] = _Followed(tail, reading)
        one.streams += 1
        try:
            yield one.tail
        finally:
            one.streams -= 1
            if not one.streams:
                self._end(key, one)

    async def _read(self, tail: Tail[P, I], read: Read[P, I], waiting: Waiting) -> None:
        async with waiting() as waiter:
            await tail.follow(read, lambda: waiter.wait(self._poll_s))

    def _end(self, key: Hashable, one: _Followed) -> None:
        if self._followed.get(key) is one:
            del self._followed[key]
        one.reading.cancel()


def _pass_on(tail: Tail[Any, Any], reading: asyncio.Task[None]) -> None:
    if not reading.cancelled() and (error := reading.exception()) is not None:
        tail.fail(error)
