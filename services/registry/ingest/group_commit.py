"""Group commit: entries that arrive during a transaction share the next one. Without load, nothing waits."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.errors import Transient
from shared.ids import TenantId

Entry = TypeVar("Entry")
Result = TypeVar("Result")


@dataclass(slots=True)
class _Waiting(Generic[Entry, Result]):
    entry: Entry
    answer: asyncio.Future[Result]


class Combiner(Generic[Entry, Result]):
    """Passes waiting entries of a tenant to `store` in groups, in order of arrival, with at most `lanes` transactions at a time.

    Args:
        store: Stores a group in one transaction and returns one result per entry, in order. A `Transient` it raises reaches every
            entry; after any other exception each entry is retried alone, so that a bad one does not affect the others.
        source: Entries of one source are never in the same group.
        weight: Size of an entry; a group stops growing at `most_weight`.
    """

    def __init__(
        self,
        store: Callable[[TenantId, Sequence[Entry]], Awaitable[Sequence[Result]]],
        source: Callable[[Entry], Hashable],
        weight: Callable[[Entry], int],
        *,
        lanes: int = 2,
        most_weight: int = 20_000,
    ) -> None:
        self._store = store
        self._source = source
        self._weight = weight
        self._lanes = lanes
        self._most_weight = most_weight
        self._queues: dict[TenantId, deque[_Waiting[Entry, Result]]] = {}
        self._tasks: dict[TenantId, set[asyncio.Task[None]]] = {}

    async def add(self, tenant: TenantId, entry: Entry) -> Result:
        """Store the entry and return its result. Cancelling the caller does not cancel the transaction."""
        waiting = _Waiting[Entry, Result](entry, asyncio.get_running_loop().create_future())
        self._queues.setdefault(tenant, deque()).append(waiting)
        tasks = self._tasks.setdefault(tenant, set())
        if len(tasks) < self._lanes:
            task = asyncio.create_task(self._drain(tenant))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return await waiting.answer

    async def close(self) -> None:
        """Wait until everything that was added is answered."""
        while tasks := [task for group in self._tasks.values() for task in group]:
            await asyncio.wait(tasks)

    async def _drain(self, tenant: TenantId) -> None:
        queue = self._queues[tenant]
        while group := self._take(queue):
            await self._answer(tenant, group)

    def _take(self, queue: deque[_Waiting[Entry, Result]]) -> list[_Waiting[Entry, Result]]:
        group: list[_Waiting[Entry, Result]] = []
        later: list[_Waiting[Entry, Result]] = []
        sources: set[Hashable] = set()
        weight = 0
        while queue and weight < self._most_weight:
            waiting = queue.popleft()
            source = self._source(waiting.entry)
            if source in sources:
                later.append(waiting)
                continue
            sources.add(source)
            weight += self._weight(waiting.entry)
            group.append(waiting)
        queue.extendleft(reversed(later))
        return group

    async def _answer(self, tenant: TenantId, group: Sequence[_Waiting[Entry, Result]]) -> None:
        try:
            results = await self._store(tenant, [waiting.entry for waiting in group])
        except Exception as error:  # noqa: BLE001 - any error is passed to the entries
            if isinstance(error, Transient) or len(group) == 1:
                for waiting in group:
                    if not waiting.answer.done():
                        waiting.answer.set_exception(error)
                return
            for waiting in group:
                await self._answer(tenant, [waiting])
            return
        for waiting, result in zip(group, results, strict=True):
            if not waiting.answer.done():
                waiting.answer.set_result(result)
