"""Whose requests are worked for: tenants that send at the same time have equal parts of a replica, however many requests each of them sends."""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from muster.errors import Transient
from shared.ids import TenantId

AT_ONCE = 8
"""A replica is one thread: of more requests at a time each is answered later, and none sooner."""
LONGEST_S = 0.04
"""Who takes longer waits for somebody else, for a plan or for what a command came to, and takes nothing from the replica meanwhile: were its turn to last, two
changes of a tenant would keep all its looks waiting (decision 0246)."""
ACTIVE_S = 1.0
"""Who has sent something so long ago counts as one who sends: its next request finds its part free."""


class Turn:
    """One request that is worked at, until it is answered."""

    __slots__ = ("_part", "_shares", "began_s")

    def __init__(self, shares: "FairShares", part: "_Part", began_s: float) -> None:
        self._shares = shares
        self._part = part
        self.began_s = began_s

    def __enter__(self) -> None:
        """Nothing is left to do."""

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Leaves its place to the next; also where the clock has done so already."""
        self._shares.end(self, self._part)


@dataclass(slots=True, eq=False)
class _Part:
    """A tenant's requests that are worked at, the oldest first; those that wait, in their order; and when the last one came."""

    turns: dict[Turn, None] = field(default_factory=dict)
    waiting: deque[asyncio.Future[Turn]] = field(default_factory=deque)
    came_s: float = 0.0
    timer: asyncio.TimerHandle | None = None


class FairShares:
    """Works for `AT_ONCE` requests at a time, of which each tenant that sends has an equal part; who sends alone has all of it.

    Fair queueing (Nagle, RFC 970) with tenants for hosts and turns of at most `longest_s` for packets.

    Args:
        patience_s: so long a request waits for its turn.
        active_s: so long after its last request a tenant counts as one that sends.
    """

    def __init__(self, patience_s: float, longest_s: float = LONGEST_S, active_s: float = ACTIVE_S) -> None:
        self._patience_s = patience_s
        self._longest_s = longest_s
        self._active_s = active_s
        self._parts: OrderedDict[TenantId, _Part] = OrderedDict()

    async def take(self, tenant: TenantId) -> Turn:
        """A turn of the tenant's, once there is one. Whoever has it ends it; after `longest_s` it counts no more.

        Raises:
            Transient: the patience is at its end (`timeout`).
        """
        now_s = asyncio.get_running_loop().time()
        part = self._part_of(tenant, now_s)
        if part.waiting or len(part.turns) >= self._share():
            return await self._wait(part)
        return self._begin(part, now_s)

    def end(self, turn: Turn, part: _Part) -> None:
        """One fewer is worked at: those that wait go on."""
        if turn in part.turns:
            del part.turns[turn]
            if part.waiting:
                self._let_in(part)

    def _part_of(self, tenant: TenantId, now_s: float) -> _Part:
        """Notes that the tenant sends, and forgets who does no more."""
        part = self._parts.get(tenant)
        if part is None:
            part = self._parts[tenant] = _Part()
        part.came_s = now_s
        self._parts.move_to_end(tenant)
        while not self._is_active(oldest := next(iter(self._parts)), now_s):
            del self._parts[oldest]
        return part

    def _is_active(self, tenant: TenantId, now_s: float) -> bool:
        part = self._parts[tenant]
        return bool(part.waiting) or now_s - part.came_s < self._active_s

    def _share(self) -> int:
        return max(1, AT_ONCE // len(self._parts))

    def _begin(self, part: _Part, now_s: float) -> Turn:
        turn = Turn(self, part, now_s)
        part.turns[turn] = None
        return turn

    def _let_in(self, part: _Part) -> None:
        """As many of those that wait as there is room for; looks again when the oldest turn has been long enough."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        while part.turns and now_s - (oldest := next(iter(part.turns))).began_s >= self._longest_s:
            del part.turns[oldest]
        while part.waiting and len(part.turns) < self._share():
            place = part.waiting.popleft()
            if not place.done():
                place.set_result(self._begin(part, now_s))
        if part.timer is not None:
            part.timer.cancel()
            part.timer = None
        if part.waiting:
            due_s = next(iter(part.turns)).began_s + self._longest_s
            part.timer = loop.call_at(due_s, self._let_in, part)

    async def _wait(self, part: _Part) -> Turn:
        place: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        part.waiting.append(place)
        self._let_in(part)  # its part may have become larger since somebody was let in
        try:
            async with asyncio.timeout(self._patience_s):
                return await place
        except BaseException as error:
            if place.done() and not place.cancelled():  # it was its turn at the same moment
                place.result().end()
            if isinstance(error, TimeoutError):
                told = f"your tenant sends more than it is worked for: a request has waited {self._patience_s:g} s for its turn"
                raise Transient(told, retry_after_s=1.0, code="timeout") from None
            raise
