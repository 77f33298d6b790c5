"""Whose requests are worked for: tenants that send at the same time have equal parts of a replica, however many requests each of them sends."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from muster.errors import Transient
from shared.clock import Clock
from shared.ids import TenantId

AT_ONCE = 16
"""A replica is one thread: of more requests at a time each is answered later, and none sooner."""
LONGEST_S = 0.25
"""Who takes longer waits for somebody else, for a plan or for what a command came to, and takes nothing from the replica meanwhile."""
_LEAST = 2
_ACTIVE_S = 1.0
"""Who has sent something so long ago counts as one who sends: its next request finds its part free."""


@dataclass(slots=True)
class _Part:
    """A tenant's requests that are worked at, those that wait in their order, and when the last one came."""

    under_way: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    came_s: float = 0.0


class FairShares:
    """Works for `AT_ONCE` requests at a time, of which each tenant that sends has an equal part; who sends alone has all of it.

    Fair queueing (Nagle, RFC 970) with tenants for hosts and turns of at most `longest_s` for packets.

    Args:
        patience_s: so long a request waits for its turn.
    """

    def __init__(self, patience_s: float, clock: Clock, longest_s: float = LONGEST_S) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._longest_s = longest_s
        self._parts: OrderedDict[TenantId, _Part] = OrderedDict()

    @asynccontextmanager
    async def turn(self, tenant: TenantId) -> AsyncIterator[None]:
        """Waits for a turn of the tenant's. It ends with the block, or after `longest_s` while the block goes on.

        Raises:
            Transient: the patience is at its end (`timeout`).
        """
        part = self._part_of(tenant)
        if part.waiting or part.under_way >= self._share():
            await self._wait(part)
        else:
            part.under_way += 1
        turn = _Turn(self, part)
        timer = asyncio.get_running_loop().call_later(self._longest_s, turn.end)
        try:
            yield
        finally:
            timer.cancel()
            turn.end()

    def end(self, part: _Part) -> None:
        """One fewer is worked at: those that wait go on."""
        part.under_way -= 1
        self._let_in(part)

    def _let_in(self, part: _Part) -> None:
        while part.waiting and part.under_way < self._share():
            place = part.waiting.popleft()
            if not place.done():
                part.under_way += 1
                place.set_result(None)

    def _part_of(self, tenant: TenantId) -> _Part:
        """Notes that the tenant sends, and forgets who does no more."""
        part = self._parts.setdefault(tenant, _Part())
        part.came_s = self._clock.monotonic()
        self._parts.move_to_end(tenant)
        while not self._is_active(oldest := next(iter(self._parts)), part.came_s):
            del self._parts[oldest]
        return part

    def _is_active(self, tenant: TenantId, now_s: float) -> bool:
        part = self._parts[tenant]
        return part.under_way > 0 or now_s - part.came_s < _ACTIVE_S

    def _share(self) -> int:
        return max(_LEAST, AT_ONCE // len(self._parts))

    async def _wait(self, part: _Part) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        part.waiting.append(place)
        self._let_in(part)  # its part may have become larger since somebody was let in
        try:
            async with asyncio.timeout(self._patience_s):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():  # it was its turn at the same moment
                self.end(part)
            if isinstance(error, TimeoutError):
                told = f"your tenant sends more than it is worked for: a request has waited {self._patience_s:g} s for its turn"
                raise Transient(told, retry_after_s=1.0, code="timeout") from None
            raise


class _Turn:
    """Ends once, by its block or by the clock."""

    __slots__ = ("_part", "_shares")

    def __init__(self, shares: FairShares, part: _Part) -> None:
        self._shares = shares
        self._part: _Part | None = part

    def end(self) -> None:
        part, self._part = self._part, None
        if part is not None:
            self._shares.end(part)
