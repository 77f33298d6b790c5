"""Group commit: together when busy, at once when idle, and one bad entry harms no other."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.errors import Broken, Transient
from services.registry.ingest.group_commit import Combiner
from shared.ids import DEFAULT_TENANT

Entry = tuple[str, int]


class Store:
    """Notes what comes together; waits while `gate` is shut; refuses entries below zero."""

    def __init__(self) -> None:
        self.groups: list[list[Entry]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_away = False

    async def __call__(self, tenant: object, entries: Sequence[Entry]) -> list[int]:
        self.groups.append(list(entries))
        await self.gate.wait()
        if self.is_away:
            raise Transient("away")
        if any(number < 0 for _, number in entries):
            raise Broken("below zero")
        return [number * 10 for _, number in entries]


def combiner(store: Store, lanes: int = 1, most_weight: int = 100) -> Combiner[Entry, int]:
    return Combiner(
        store, source=lambda entry: entry[0], weight=lambda entry: 1, lanes=lanes, most_weight=most_weight
    )


async def test_idle_an_entry_goes_alone_and_busy_ones_go_together() -> None:
    store = Store()
    combine = combiner(store)
    assert await combine.add(DEFAULT_TENANT, ("a", 1)) == 10
    store.gate.clear()
    waiting = [asyncio.create_task(combine.add(DEFAULT_TENANT, (name, 2))) for name in "abcd"]
    await asyncio.sleep(0)
    store.gate.set()
    assert await asyncio.gather(*waiting) == [20] * 4
    assert store.groups[0] == [("a", 1)]
    assert len(store.groups) <= 3
    assert sorted(entry for group in store.groups[1:] for entry in group) == [(name, 2) for name in "abcd"]


async def test_a_source_never_meets_itself_and_keeps_its_order() -> None:
    store = Store()
    combine = combiner(store)
    entries = [("a", 1), ("a", 2), ("b", 3), ("a", 4)]
    results = await asyncio.gather(*[combine.add(DEFAULT_TENANT, entry) for entry in entries])
    assert results == [10, 20, 30, 40]
    for group in store.groups:
        assert len({name for name, _ in group}) == len(group)
    assert [number for group in store.groups for name, number in group if name == "a"] == [1, 2, 4]


async def test_a_group_stops_growing_at_its_weight() -> None:
    store = Store()
    combine = combiner(store, most_weight=2)
    await asyncio.gather(*[combine.add(DEFAULT_TENANT, (str(number), number)) for number in range(7)])
    assert max(map(len, store.groups)) == 2


async def test_one_bad_entry_fails_alone() -> None:
    store = Store()
    combine = combiner(store)
    tasks = [
        asyncio.create_task(combine.add(DEFAULT_TENANT, (name, number)))
        for name, number in zip("abc", (1, -1, 3), strict=False)
    ]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[0] == 10
    assert isinstance(results[1], Broken)
    assert results[2] == 30


async def test_a_database_that_is_away_is_told_to_all_at_once() -> None:
    store = Store()
    store.is_away = True
    combine = combiner(store)
    tasks = [asyncio.create_task(combine.add(DEFAULT_TENANT, (name, 1))) for name in "abc"]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, Transient) for result in results)
    assert len(store.groups) == 1


async def test_who_gives_up_waiting_does_not_stop_the_transaction() -> None:
    store = Store()
    store.gate.clear()
    combine = combiner(store)
    task = asyncio.create_task(combine.add(DEFAULT_TENANT, ("a", 1)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.gate.set()
    await combine.close()
    assert store.groups == [[("a", 1)]]
