"""A trial's request for slots, and what a newer wish of the searcher makes of it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.slots import SlotCount, count_of
from shared.ids import ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.specs import UNCATEGORIZED, DesiredState, SlotKind, Thousandths
from shared.state_machine import StateMachine
from shared.tuples import changed

FIRST_BACK_OFF, LONGEST_BACK_OFF = timedelta(seconds=2), timedelta(minutes=5)


class RequestState(StrEnum):
    """`awaiting`: queued again, but not to be granted yet: announced checkpoints of its last run are not settled, or it backs off."""

    QUEUED = "queued"
    AWAITING = "awaiting"
    RUNNING = "running"
    CLOSED = "closed"


class RequestTrigger(StrEnum):
    """What moves a request."""

    GRANTED = "granted"
    REQUEUED = "requeued"
    AWAITED = "awaited"
    SETTLED = "settled"
    CLOSED = "closed"


_S, _T = RequestState, RequestTrigger
REQUEST = StateMachine(
    name="request",
    initial=_S.QUEUED,
    table={
        (_S.QUEUED, _T.GRANTED): _S.RUNNING,
        (_S.QUEUED, _T.AWAITED): _S.AWAITING,
        (_S.QUEUED, _T.CLOSED): _S.CLOSED,
        (_S.RUNNING, _T.REQUEUED): _S.QUEUED,
        (_S.RUNNING, _T.AWAITED): _S.AWAITING,
        (_S.RUNNING, _T.CLOSED): _S.CLOSED,
        (_S.AWAITING, _T.SETTLED): _S.QUEUED,
        (_S.AWAITING, _T.CLOSED): _S.CLOSED,
    },
    ignored={(_S.QUEUED, _T.SETTLED), (_S.RUNNING, _T.SETTLED)},
    final={_S.CLOSED},
)


class SlotNeeds(NamedTuple):
    """What a run takes. `min_slots < max_slots` accepts less; 0 slots run beside the others; `part`: so much of one slot;
    `where` None: on any machine."""

    min_slots: int = 1
    max_slots: int = 1
    kind: SlotKind | None = None
    single_node: bool = False
    part: Thousandths = 0
    where: PlacementConstraint | None = None

    def charged(self, slots: int) -> SlotCount:
        """What so many slots of it count for: in shares, limits and usage."""
        return count_of(slots, self.part)

    @property
    def least(self) -> SlotCount:
        """What it counts for at least."""
        return self.charged(self.min_slots)

    @property
    def most(self) -> SlotCount:
        """What it counts for at most."""
        return self.charged(self.max_slots)

    @property
    def is_elastic(self) -> bool:
        return 0 < self.min_slots < self.max_slots

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of slots worth trying, best first."""
        return (self.max_slots,) if self.min_slots == self.max_slots else (self.max_slots, self.min_slots)


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What the searcher wants of a trial now; the newest version wins. `workspace` and `owner` (a user) are whom it counts for."""

    trial: TrialId
    tenant: TenantId
    experiment: ExperimentId
    version: int
    request: int
    wanted: DesiredState
    decide_at: float | None
    needs: SlotNeeds
    pool: PoolName
    max_restarts: int
    number: int = 0
    experiment_number: int = 0
    workspace: str = UNCATEGORIZED
    owner: str = ""


@dataclass(frozen=True, slots=True)
class AwaitedUploads:
    """Checkpoints that the last run announced and that are neither committed nor abandoned yet; the registry decides when to abandon them."""

    run: RunId
    announced: int


class Trial(NamedTuple):
    """A trial's present request and what its runs so far leave behind.

    Attributes:
        place: Submission order; a restarted run keeps it, a new request gets a new one.
        submitted_at: When this request was opened; a restarted run keeps it.
        restarts: Restarts charged so far.
        fruitless: Uncharged ends in a row without a higher step or a new checkpoint.
        preemptions: How often this trial gave its slots back because others were to have them.
        turned_at: When it last yielded its slots because its turn was over.
        ignores_signals: A run of it was killed because it did not end when its turn was over, or to be resized: it is asked for neither again.
        runs: How many runs there have been.
        best_step: The highest step that any run has reported.
        excluded: Workers that a log policy keeps it off; `wish.needs` knows of them.
        not_before: When it may be granted again after uncharged ends without progress (`back_off`).
    """

    wish: TrialRequest
    place: int
    since: datetime
    state: RequestState = REQUEST.initial
    restarts: int = 0
    fruitless: int = 0
    runs: int = 0
    best_step: int = 0
    run: RunId | None = None
    awaited: AwaitedUploads | None = None
    submitted_at: datetime | None = None
    preemptions: int = 0
    turned_at: datetime | None = None
    ignores_signals: bool = False
    excluded: frozenset[WorkerId] = frozenset()
    not_before: datetime | None = None

    @property
    def id(self) -> TrialId:
        return self.wish.trial

    @property
    def is_closed(self) -> bool:
        return self.state is RequestState.CLOSED

    def moved(self, trigger: RequestTrigger, since: datetime | None = None, **changes: Any) -> "Trial":
        """The trial after `trigger`, with what changes beside it; a missing edge raises Broken."""
        return changed(self, state=REQUEST.next(self.state, trigger), since=since or self.since, **changes)


def back_off(fruitless: int) -> timedelta:
    """How long a trial waits after so many uncharged ends in a row without progress: the first restart is at once, the next after 2 s,
    then twice as long each time. What failed elsewhere, such as the object store, may be back by then."""
    return timedelta() if fruitless < 2 else min(FIRST_BACK_OFF * 2 ** (fruitless - 2), LONGEST_BACK_OFF)


def with_request(trial: Trial, wish: TrialRequest) -> Trial:
    """The trial with this wish, kept off the machines that a log policy excludes."""
    where = wish.needs.where or PlacementConstraint()
    if trial.excluded <= set(where.excluded):
        return changed(trial, wish=wish)
    narrowed = replace(where, excluded=tuple(sorted(trial.excluded | set(where.excluded))))
    return changed(trial, wish=replace(wish, needs=changed(wish.needs, where=narrowed)))


def excluding(trial: Trial, worker: WorkerId) -> Trial:
    """The trial, of which no later run goes to `worker`."""
    return with_request(changed(trial, excluded=trial.excluded | {worker}), trial.wish)


def is_newer(trial: Trial | None, wish: TrialRequest) -> bool:
    """Whether `wish` changes anything: late, repeated, and meant for a closed request change nothing."""
    if trial is None:
        return True
    if wish.version <= trial.wish.version:
        return False
    return wish.request > trial.wish.request if trial.is_closed else True


def open_request(trial: Trial | None, wish: TrialRequest, place: int, now: datetime) -> Trial:
    """A fresh request of a trial: never seen before, or closed and wanted again (restart counts live on)."""
    if trial is None:
        return Trial(wish, place, now, submitted_at=now)
    fresh = changed(with_request(trial, wish), place=place, since=now, submitted_at=now)
    return changed(
        fresh,
        state=REQUEST.initial,
        fruitless=0,
        turned_at=None,
        ignores_signals=False,
        not_before=None,
    )
