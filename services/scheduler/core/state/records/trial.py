"""A trial's request for slots, and how a newer version from the searcher changes it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.slots import SlotCount, count_of
from shared.ids import ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.trial_specs import UNCATEGORIZED, DesiredState, SlotKind, Thousandths
from shared.state_machine import StateMachine
from shared.tuples import changed

FIRST_BACK_OFF, LONGEST_BACK_OFF = timedelta(seconds=2), timedelta(minutes=5)


class RequestState(StrEnum):
    """`awaiting`: queued again, but not yet eligible: checkpoints of its last run are not settled, or it is
    backing off."""

    QUEUED = "queued"
    AWAITING = "awaiting"
    RUNNING = "running"
    CLOSED = "closed"


class RequestTrigger(StrEnum):
    """Triggers of state changes."""

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
    """The resources that a run needs. `min_slots < max_slots`: elastic. 0 slots: it runs beside others. `fraction`:
    a fraction of one slot, in thousandths. `where` None: any machine."""

    min_slots: int = 1
    max_slots: int = 1
    kind: SlotKind | None = None
    single_node: bool = False
    fraction: Thousandths = 0
    where: PlacementConstraint | None = None

    def charged(self, slots: int) -> SlotCount:
        """Return the charge for this many slots in shares, limits and usage."""
        return count_of(slots, self.fraction)

    @property
    def least(self) -> SlotCount:
        """The minimum charge."""
        return self.charged(self.min_slots)

    @property
    def most(self) -> SlotCount:
        """The maximum charge."""
        return self.charged(self.max_slots)

    @property
    def is_elastic(self) -> bool:
        return 0 < self.min_slots < self.max_slots

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of slots to try, best first."""
        return (self.max_slots,) if self.min_slots == self.max_slots else (self.max_slots, self.min_slots)


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """The searcher's current request for a trial; the newest version wins. `workspace` and `owner` (a user) are
    charged."""

    trial: TrialId
    tenant: TenantId
    experiment: ExperimentId
    version: int
    request: int
    desired_state: DesiredState
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
    """Checkpoints that the last run announced and that are neither committed nor abandoned. The registry
    decides when to abandon them."""

    run: RunId
    announced: int


class Trial(NamedTuple):
    """A trial's current request, and the results of its runs so far.

    Attributes:
        submission_order: A number; a restarted run keeps it, a new request gets a higher one.
        submitted_at: When this request was opened. A restarted run keeps it.
        restarts: Restarts counted against `max_restarts` so far.
        runs_without_progress: Consecutive ends that were not counted as restarts and brought
            neither a higher step nor a new checkpoint.
        preemptions: How often this trial was preempted, without time slices and resizes.
        time_slice_ended_at: When it last yielded at the end of a time slice.
        ignores_signals: One of its runs was killed because it did not end after its time slice or for a resize.
            It is asked for neither again.
        runs: The number of runs.
        best_step: The highest step that any run has reported.
        excluded: Workers that a log policy excludes; also included in `request.needs`.
        not_before: Back-off: the earliest time of the next grant (`back_off`).
    """

    request: TrialRequest
    submission_order: int
    since: datetime
    state: RequestState = REQUEST.initial
    restarts: int = 0
    runs_without_progress: int = 0
    runs: int = 0
    best_step: int = 0
    run: RunId | None = None
    awaited: AwaitedUploads | None = None
    submitted_at: datetime | None = None
    preemptions: int = 0
    time_slice_ended_at: datetime | None = None
    ignores_signals: bool = False
    excluded: frozenset[WorkerId] = frozenset()
    not_before: datetime | None = None

    @property
    def id(self) -> TrialId:
        return self.request.trial

    @property
    def is_closed(self) -> bool:
        return self.state is RequestState.CLOSED

    def moved(self, trigger: RequestTrigger, since: datetime | None = None, **changes: Any) -> "Trial":
        """Return the trial after `trigger`, with other changed fields. Raises Broken for an invalid transition."""
        return changed(self, state=REQUEST.next(self.state, trigger), since=since or self.since, **changes)


def back_off(runs_without_progress: int) -> timedelta:
    """Return how long a trial waits after this many consecutive uncharged ends without progress: the first
    restart is immediate, the second waits 2 s, and each further one twice as long, up to 5 minutes. The cause,
    such as an object store outage, may be over by then."""
    return (
        timedelta()
        if runs_without_progress < 2
        else min(FIRST_BACK_OFF * 2 ** (runs_without_progress - 2), LONGEST_BACK_OFF)
    )


def with_request(trial: Trial, request: TrialRequest) -> Trial:
    """Return the trial with this request, excluding the machines that a log policy excludes."""
    where = request.needs.where or PlacementConstraint()
    if trial.excluded <= set(where.excluded):
        return changed(trial, request=request)
    narrowed = replace(where, excluded=tuple(sorted(trial.excluded | set(where.excluded))))
    return changed(trial, request=replace(request, needs=changed(request.needs, where=narrowed)))


def excluding(trial: Trial, worker: WorkerId) -> Trial:
    """Return the trial with `worker` excluded for later runs."""
    return with_request(changed(trial, excluded=trial.excluded | {worker}), trial.request)


def is_newer(trial: Trial | None, request: TrialRequest) -> bool:
    """Whether the request changes anything. Late and repeated versions, and those for a closed request, do not."""
    if trial is None:
        return True
    if request.version <= trial.request.version:
        return False
    return request.request > trial.request.request if trial.is_closed else True


def open_request(trial: Trial | None, request: TrialRequest, submission_order: int, now: datetime) -> Trial:
    """Open a request of a trial that is new, or that was closed and is wanted again (restart counts are kept)."""
    if trial is None:
        return Trial(request, submission_order, now, submitted_at=now)
    fresh = changed(
        with_request(trial, request), submission_order=submission_order, since=now, submitted_at=now
    )
    return changed(
        fresh,
        state=REQUEST.initial,
        runs_without_progress=0,
        time_slice_ended_at=None,
        ignores_signals=False,
        not_before=None,
    )
