"""The gang of a run: its workers and the slots that they contribute."""

from datetime import datetime
from typing import Any, NamedTuple

from services.scheduler.core.state.records.run_states import GANG, GangState, GangTrigger
from services.scheduler.core.state.records.slots import SlotCount, count_of
from shared.ids import WorkerId
from shared.messages.trial_specs import Thousandths
from shared.tuples import changed

NOBODY: frozenset[WorkerId] = frozenset()


class GangShare(NamedTuple):
    """One worker's share of a gang; the first share belongs to the chief. `fraction`: the fraction of its one slot,
    in thousandths; 0: whole slots. `private_network`: its runs have networks of their own."""

    worker: WorkerId
    slots: int
    slot_ids: tuple[int, ...] = ()
    address: str = ""
    fraction: Thousandths = 0
    private_network: bool = False

    @property
    def charged(self) -> SlotCount:
        """The slots that the share is charged for."""
        return count_of(self.slots, self.fraction)


class Gang(NamedTuple):
    """The workers of a run.

    Attributes:
        shares: Its slots. While it forms: both the previous and the new ones.
        target: The members of the gang that has been forming `since` (see `forming`); empty: the members are
            all `shares`.
        seen: Members that have reported the allocation. A member that stops reporting it has lost it.
        prepared: Members that are ready for the new gang. `joined`: members that train in it.
        released: Workers that have released the run's slots. `former`: workers that were members before.
        hung, broken: Members whose ranks hang, or wait because their gang broke. In memory only; members repeat
            it every second.
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
        """The shares that are to train."""
        return self.target or self.shares

    @property
    def hangs(self) -> bool:
        """Whether all members of a gang over several workers hang. A rank that waits for a working one
        elsewhere is no proof."""
        return len(self.shares) > 1 and self.state is not GangState.FORMING and self.hung >= self.workers

    @property
    def may_meet(self) -> bool:
        """Whether the ranks may rendezvous: all members are prepared."""
        return self.state is not GangState.FORMING or all(one.worker in self.prepared for one in self.target)

    def moved(self, trigger: GangTrigger, **changes: Any) -> "Gang":
        """Return the gang after `trigger`, with other changed fields."""
        return changed(self, state=GANG.next(self.state, trigger), **changes)
