"""What was just shown, as long as it has not changed: who polls an experiment costs no look into the database, and no second writing of it."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast
from uuid import UUID

from services.gateway.api.base import Resource
from services.gateway.live.feed import Feed, View
from services.gateway.remembered.together import Together
from shared.clock import Clock


class Identified(Protocol):
    """What is shown of an experiment."""

    @property
    def id(self) -> UUID: ...


E = TypeVar("E", bound=Identified)
R = TypeVar("R", bound=Resource)
F = TypeVar("F")
_Key = tuple[View, str, str]
FRESH_S = 1.0
"""A change that nobody told of, since the bus is away, is seen after this long."""
_MOST = 2048


@dataclass(frozen=True, slots=True)
class _Shown:
    resource: Identified
    mark: int
    until_s: float
    forms: dict[str, object] = field(default_factory=dict)


class Recent:
    """Answers of this process, by what was asked and by whom it may be seen. What is not found is not remembered."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self._shown: OrderedDict[_Key, _Shown] = OrderedDict()
        self._loading: Together[tuple[_Key, int], _Shown] = Together()
        self._by_identity: dict[int, _Shown] = {}

    async def get(self, view: View, kind: str, name: str, load: Callable[[], Awaitable[E]]) -> E:
        """What `load` gives, or gave at most a second ago, no change of that experiment having been told since."""
        key, now_s = (view, kind, name), self._clock.monotonic()
        changes = self._feed.changes(view[0])
        shown = self._shown.get(key)
        if shown is None or shown.until_s <= now_s or changes.since(shown.mark, shown.resource.id):
            # Marked before it is loaded: a change that comes meanwhile may not be in it, and who asks after that loads it again.
            mark = changes.mark
            shown = await self._loading.once((key, mark), lambda: self._load(key, mark, load))
        else:
            self._shown.move_to_end(key)
        return cast(E, shown.resource)

    async def _load(self, key: _Key, mark: int, load: Callable[[], Awaitable[E]]) -> _Shown:
        until_s = self._clock.monotonic() + FRESH_S
        shown = _Shown(await load(), mark, until_s)
        known = self._shown.get(key)
        if known is None or known.mark <= mark:  # What was asked for later may be here before.
            self._keep(key, shown)
        return shown

    def form(self, resource: R, name: str, make: Callable[[R], F]) -> F:
        """What `make` makes of a resource: once for one that is remembered, under the form's name."""
        shown = self._by_identity.get(id(resource))
        if shown is None:
            return make(resource)
        if name not in shown.forms:
            shown.forms[name] = make(resource)
        return cast(F, shown.forms[name])

    def _keep(self, key: _Key, shown: _Shown) -> None:
        self._drop(self._shown.pop(key, None))
        self._shown[key] = self._by_identity[id(shown.resource)] = shown
        if len(self._shown) > _MOST:
            self._drop(self._shown.popitem(last=False)[1])

    def _drop(self, shown: _Shown | None) -> None:
        if shown is not None:
            self._by_identity.pop(id(shown.resource), None)
