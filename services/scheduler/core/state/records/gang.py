"""The workers of a run, and the shares that they hold."""

from datetime import datetime
from typing import Any, NamedTuple

from services.scheduler.core.state.records.run_states import GANG, GangState, GangTrigger
from services.scheduler.core.state.records.slots import SlotCount, count_of
from shared.ids import WorkerId
from shared.messages.specs import Thousandths
from shared.tuples import changed

NOBODY: frozenset[WorkerId] = frozenset()


class GangShare(NamedTuple):
    """One worker's part of a gang; the first of a gang is its chief. `part`: how much of its one slot is the run's; 0: all slots."""

    worker: WorkerId
    slots: int
    slot_ids: tuple[int, ...] = ()
    address: str = ""
    part: Thousandths = 0

    @property
    def charged(self) -> SlotCount:
        """What it counts for."""
        return count_of(self.slots, self.part)


class Gang(NamedTuple):
    """The workers of a run.

    Attributes:
        shares: The slots that it has: while it forms, what it had and what it gets.
        target: The members of the gang that it forms `since` (see `forming`); none: it has all `shares`.
        seen: Members that have named the allocation; one that no longer does has lost it.
        prepared: Those that have what the gang to be formed needs; `joined`: that train in it.
        released: Workers whose slots this run no longer holds. `former`: workers that had a part once.
        hung, broken: Members that say that their ranks hang, or wait since their gang broke. Known in memory only: they say it again each
            second.
        is_live: Its script can be resized while it trains.
    """

    shares: tuple[GangShare, ...]
    state: GangState = GANG.initial
    generation: int = 1
    rendezvous: str | None = None
    is_live: bool = False
    target: tuple[GangShare, ...] = ()
    since: datetime | None = None
    seen: frozenset[WorkerId] = NOBODY
    prepared: frozenset[WorkerId] = NOBODY
    joined: frozenset[WorkerId] = NOBODY
    released: frozenset[WorkerId] = NOBODY
    former: frozenset[WorkerId] = NOBODY
    hung: frozenset[WorkerId] = NOBODY
    broken: frozenset[WorkerId] = NOBODY

    @property
    def workers(self) -> frozenset[WorkerId]:
        return frozenset([share.worker for share in self.shares])

    @property
    def members(self) -> tuple[GangShare, ...]:
        """Who is to train in it."""
        return self.target or self.shares

    @property
    def hangs(self) -> bool:
        """Whether all of a gang over several workers hangs: a rank that waits for one that works elsewhere is no proof."""
        return len(self.shares) > 1 and self.state is not GangState.FORMING and self.hung >= self.workers

    @property
    def may_meet(self) -> bool:
        """Whether the ranks may meet: all members are prepared for it."""
        return self.state is not GangState.FORMING or all(one.worker in self.prepared for one in self.target)

    def moved(self, trigger: GangTrigger, **changes: Any) -> "Gang":
        """The gang after `trigger`, with what changes beside it."""
        return changed(self, state=GANG.next(self.state, trigger), **changes)
