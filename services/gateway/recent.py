"""What was just shown, as long as nothing of its tenant has changed: who polls an experiment costs no look into the database."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from services.gateway.api.base import Resource
from services.gateway.feed import Feed, View
from shared.clock import Clock

R = TypeVar("R", bound=Resource)
FRESH_S = 1.0
"""A change that nobody told of, since the bus is away, is seen after this long."""
_MOST = 2048


@dataclass(frozen=True, slots=True)
class _Shown:
    resource: Resource
    changes: int
    until_s: float


class Recent:
    """Answers of this process, by what was asked and by whom it may be seen. What is not found is not remembered."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self._shown: OrderedDict[tuple[View, str, str], _Shown] = OrderedDict()

    async def get(self, view: View, kind: str, name: str, load: Callable[[], Awaitable[R]]) -> R:
        """What `load` gives, or gave at most a second ago, no change of the tenant having been told since."""
        key, now_s = (view, kind, name), self._clock.monotonic()
        changes = self._feed.changes(view[0])
        shown = self._shown.get(key)
        if shown is None or shown.changes != changes or shown.until_s <= now_s:
            # Counted before it is loaded: a change that comes meanwhile may not be in it.
            shown = _Shown(await load(), changes, now_s + FRESH_S)
            self._shown[key] = shown
            if len(self._shown) > _MOST:
                self._shown.popitem(last=False)
        self._shown.move_to_end(key)
        return cast(R, shown.resource)
