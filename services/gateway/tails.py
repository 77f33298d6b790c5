"""The newest events of tenants, read once for all streams that see the same of them: a thousand idle streams cost as much as one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from services.gateway.api.cluster import Event
from services.gateway.feed import Feed, View
from shared.ids import TenantId

KEPT = 256
"""So many events are held for streams that follow; who is further behind reads the table by itself."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event and its position in the tenant's feed."""

    position: int
    event: Event


@dataclass(frozen=True, slots=True)
class Page:
    """What follows a position, oldest first. All that may be seen up to `end` is in it; `is_last` where nothing was left out behind it."""

    told: Sequence[Told]
    end: int
    is_last: bool


Read = Callable[[int], Awaitable[Page]]
"""Reads the events behind a position that one kind of caller sees."""


class Tail:
    """The end of a feed as one kind of caller sees it; all that came behind `begin` is held, up to `end`."""

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin
        self._held: deque[Told] = deque()
        self._told = asyncio.Event()
        self._failure: BaseException | None = None

    async def follow(self, read: Read, wait: Callable[[], Awaitable[None]]) -> None:
        """Reads on at each wake, until it is cancelled or fails."""
        while True:
            page = await read(self.end)
            self._hold(page)
            if page.is_last:
                await wait()

    def fail(self, error: BaseException) -> None:
        """Raises to all who follow what reading on has failed with."""
        self._failure = error
        self._told.set()

    def since(self, position: int) -> list[Told]:
        """What is held behind `position`, which is not before `begin`; oldest first."""
        newer: list[Told] = []
        for told in reversed(self._held):
            if told.position <= position:
                break
            newer.append(told)
        return newer[::-1]

    async def more(self, position: int) -> None:
        """Returns once something may stand behind `position`. Raises what reading on has failed with."""
        while self.end <= position and self._failure is None:
            await self._told.wait()
        if self._failure is not None:
            raise self._failure

    def _hold(self, page: Page) -> None:
        if page.end <= self.end:
            return
        self._held.extend(page.told)
        self.end = page.end
        while len(self._held) > KEPT:
            self.begin = self._held.popleft().position
        self._told.set()
        self._told = asyncio.Event()


@dataclass(slots=True)
class _Followed:
    tail: Tail
    reading: asyncio.Task[None]
    streams: int = 0


class Tails:
    """The tails that are followed in this process, each as long as a stream follows it."""

    def __init__(self, feed: Feed, poll_s: float) -> None:
        self._feed = feed
        self._poll_s = poll_s
        self._followed: dict[View, _Followed] = {}

    @contextmanager
    def following(self, key: View, begin: int, read: Read) -> Iterator[Tail]:
        """The tail of what `key` names, read by `read` and, where it is new, from `begin` on."""
        one = self._followed.get(key)
        if one is None or one.reading.done():
            tail = Tail(begin)
            reading = asyncio.create_task(self._read(key[0], tail, read))
            reading.add_done_callback(partial(_pass_on, tail))
            one = self._followed[key] = _Followed(tail, reading)
        one.streams += 1
        try:
            yield one.tail
        finally:
            one.streams -= 1
            if not one.streams:
                self._end(key, one)

    async def _read(self, tenant: TenantId, tail: Tail, read: Read) -> None:
        with self._feed.waiting(tenant) as waiter:
            await tail.follow(read, lambda: waiter.wait(self._poll_s))

    def _end(self, key: View, one: _Followed) -> None:
        if self._followed.get(key) is one:
            del self._followed[key]
        one.reading.cancel()


def _pass_on(tail: Tail, reading: asyncio.Task[None]) -> None:
    if not reading.cancelled() and (error := reading.exception()) is not None:
        tail.fail(error)
