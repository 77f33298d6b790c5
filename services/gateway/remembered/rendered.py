"""Resources as they were made of rows, as long as the rows are the same: a list costs the look for its rows, not the writing of each anew."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar
from uuid import UUID

from services.gateway.api.base import Resource

R = TypeVar("R", bound=Resource)
MOST = 4096


class Rendered(Generic[R]):
    """By the row's id and its mark, which Postgres changes with every change of the row: whoever made it, it is seen."""

    def __init__(self, render: Callable[[Any], R]) -> None:
        self._render = render
        self._known: OrderedDict[UUID, tuple[int, R]] = OrderedDict()

    async def of(
        self, marked: Sequence[Any], load: Callable[[list[UUID]], Awaitable[Sequence[Any]]]
    ) -> list[R]:
        """What the rows are shown as, in their order; one that has gone meanwhile is left out.

        Args:
            marked: rows with their `id` and `mark` only.
            load: the whole rows, with `mark`, of those ids that are not known as they are.
        """
        known = {row.id: self._known.get(row.id) for row in marked}
        missing = [row.id for row in marked if (one := known[row.id]) is None or one[0] != row.mark]
        if missing:
            known |= dict.fromkeys(missing)
            known |= {row.id: (row.mark, self._render(row)) for row in await load(missing)}
        found = {whose: one for whose, one in known.items() if one is not None}
        self._keep(found)
        return [one for _, one in found.values()]

    def _keep(self, found: dict[UUID, tuple[int, R]]) -> None:
        self._known |= found
        for whose in found:
            self._known.move_to_end(whose)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
