"""Work that several ask for at once is done once: what they remember runs out for all of them in the same moment.

What is asked for all the time is done anew shortly before that, so that nobody waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
AHEAD_S = 0.5
"""So long before it runs out, what is remembered is asked for anew by whoever uses it: without waiting."""


class Together(Generic[K, T]):
    """Work under way, by what it is for. Whoever comes when it is over has it done again."""

    def __init__(self) -> None:
        self._under_way: dict[K, asyncio.Task[T]] = {}

    async def once(self, key: K, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` gives, or raises, to all who asked since it began. One who is given up takes nothing from the others."""
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._do(key, work))
        return await asyncio.shield(task)

    def begin(self, key: K, work: Callable[[], Awaitable[T]]) -> None:
        """Has it done while nobody waits for it yet. Where it fails, whoever needs it then has it done again, and is told."""
        if key not in self._under_way:
            task = self._under_way[key] = asyncio.create_task(self._do(key, work))
            task.add_done_callback(_hear)

    async def _do(self, key: K, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        finally:
            # Before it is done: who found it done would be given what is older than their question.
            del self._under_way[key]


def _hear(task: asyncio.Task[T]) -> None:
    """A failure that nobody waits for is nobody's; asyncio would tell of it otherwise."""
    if not task.cancelled():
        task.exception()
