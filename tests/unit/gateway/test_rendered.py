"""Rows are shown as they are now, in the order that was asked for, and written anew only where they changed."""

from types import SimpleNamespace
from uuid import UUID

import pytest

from services.gateway.api.base import Resource
from services.gateway.remembered import rendered
from services.gateway.remembered.rendered import Rendered


class Shown(Resource):
    """A row as it is shown."""

    id: UUID
    text: str


class Table:
    """Rows by number, with the marks that a database gives them."""

    def __init__(self, count: int) -> None:
        self.texts = {UUID(int=number): (1, "first") for number in range(count)}
        self.loaded: list[list[int]] = []
        self.rendered = Rendered(lambda row: Shown(id=row.id, text=row.text))

    def write(self, number: int, mark: int, text: str) -> None:
        self.texts[UUID(int=number)] = (mark, text)

    async def load(self, ids: list[UUID]) -> list[SimpleNamespace]:
        self.loaded.append([one.int for one in ids])
        rows = [SimpleNamespace(id=one, mark=self.texts[one][0], text=self.texts[one][1]) for one in ids]
        return rows[::-1]

    async def show(self, *numbers: int) -> list[tuple[int, str]]:
        marked = [SimpleNamespace(id=UUID(int=one), mark=self.texts[UUID(int=one)][0]) for one in numbers]
        return [(one.id.int, one.text) for one in await self.rendered.of(marked, self.load)]


async def test_only_what_changed_is_loaded_and_the_order_stays() -> None:
    table = Table(5)
    assert await table.show(3, 1, 2) == [(3, "first"), (1, "first"), (2, "first")]
    table.write(1, 2, "second")
    assert await table.show(4, 3, 2, 1) == [(4, "first"), (3, "first"), (2, "first"), (1, "second")]
    assert await table.show(1, 4) == [(1, "second"), (4, "first")]
    assert table.loaded == [[3, 1, 2], [4, 1]]


async def test_what_is_gone_before_it_is_loaded_is_left_out() -> None:
    table = Table(3)
    await table.show(0)

    async def nothing(ids: list[UUID]) -> list[SimpleNamespace]:
        return []

    marked = [SimpleNamespace(id=UUID(int=one), mark=mark) for one, mark in ((0, 9), (1, 1))]
    assert await table.rendered.of(marked, nothing) == []


async def test_so_much_is_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendered, "MOST", 2)
    table = Table(3)
    assert await table.show(0, 1, 2) == [(0, "first"), (1, "first"), (2, "first")]
    await table.show(2)
    await table.show(0)
    assert table.loaded == [[0, 1, 2], [0]]
