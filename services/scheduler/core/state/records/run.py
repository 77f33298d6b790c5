"""A run: its grant, its gang, its progress and its end. `reducers/judging` defines what follows from the end."""

from datetime import datetime
from typing import Any, NamedTuple

from services.scheduler.core.state.records.gang import Gang, GangShare
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run_states import RUN, GangState, RunState, RunTrigger
from services.scheduler.core.state.records.slots import SlotCount
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.trial_specs import UNCATEGORIZED, PolicyAction, Signal
from shared.tuples import changed


class RunExit(NamedTuple):
    """The exit that one member, or the gang as a whole, reports. `is_invalid`: the script reported its
    hyperparameters as invalid. `policies`: names and actions of the log policies that its output matched."""

    exit_code: int | None = 0
    acknowledged: Signal | None = None
    forced: bool = False
    is_machine_fault: bool = False
    is_invalid: bool = False
    reason: str | None = None
    validations: int = 0
    checkpoints: int = 0
    step: int = 0
    policies: tuple[tuple[str, PolicyAction], ...] = ()

    @property
    def is_clean(self) -> bool:
        is_well = self.acknowledged is not None or (self.exit_code == 0 and not self.forced)
        return is_well and not self.is_invalid


class Grant(NamedTuple):
    """What was granted to which trial, and who is charged. Immutable; the token increases with every grant."""

    id: RunId
    allocation: AllocationId
    trial: TrialId
    tenant: TenantId
    experiment: ExperimentId
    pool: PoolName
    number: int
    token: int
    request: int
    granted_at: datetime
    workspace: str = UNCATEGORIZED
    owner: str = ""


class Progress(NamedTuple):
    """The progress of a run.

    Attributes:
        saved_at: When it was last known to have saved a checkpoint; later work is lost on preemption.
        announced: Number of checkpoints that it announced in total (None: not ended, or lost). `settled` of
            them were stored or abandoned.
    """

    step: int = 0
    checkpoints: int = 0
    saved_at: datetime | None = None
    announced: int | None = None
    settled: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether no announced checkpoint is still pending."""
        return self.announced is None or self.settled >= self.announced


class PauseTimes(NamedTuple):
    """Pauses that a run has measured, stored with it. `asked_ms`: when it was asked for its slots. 0: not
    measured."""

    asked_ms: int = 0
    leave_ms: int = 0
    restart_ms: int = 0
    reform_ms: int = 0


class Run(NamedTuple):
    """One attempt at a trial, with the slots granted to it.

    Attributes:
        version: The published version.
        asked: Why it was asked to release its slots. `pause_requested`: it was asked to pause.
        exits: Reports of the members that have ended, in order.
        is_stale: Data that it still sends is discarded.
        pause_times: How long it did not train when it started, was resized and was asked to yield.
    """

    grant: Grant
    gang: Gang
    version: int = 1
    state: RunState = RUN.initial
    progress: Progress = Progress()
    asked: PreemptionNotice | None = None
    pause_requested: bool = False
    exits: tuple[tuple[WorkerId, RunExit], ...] = ()
    first_exit_at: datetime | None = None
    ended_at: datetime | None = None
    is_stale: bool = False
    pause_times: PauseTimes = PauseTimes()

    @property
    def id(self) -> RunId:
        return self.grant.id

    @property
    def allocation(self) -> AllocationId:
        return self.grant.allocation

    @property
    def trial(self) -> TrialId:
        return self.grant.trial

    @property
    def tenant(self) -> TenantId:
        return self.grant.tenant

    @property
    def experiment(self) -> ExperimentId:
        return self.grant.experiment

    @property
    def pool(self) -> PoolName:
        return self.grant.pool

    @property
    def number(self) -> int:
        return self.grant.number

    @property
    def token(self) -> int:
        return self.grant.token

    @property
    def granted_at(self) -> datetime:
        return self.grant.granted_at

    @property
    def shares(self) -> tuple[GangShare, ...]:
        return self.gang.shares

    @property
    def workers(self) -> frozenset[WorkerId]:
        return self.gang.workers

    @property
    def slots(self) -> SlotCount:
        return sum(share.charged for share in self.gang.shares)

    @property
    def chief(self) -> WorkerId:
        return self.gang.shares[0].worker

    @property
    def is_ended(self) -> bool:
        """Whether all its ranks have ended or were given up; slots may still be held."""
        return self.state in _ENDED

    @property
    def is_over(self) -> bool:
        """Whether it has ended and released all slots."""
        return self.state is RunState.RELEASED

    @property
    def is_forming(self) -> bool:
        """Whether its gang is forming and will train."""
        return self.gang.state is GangState.FORMING and not self.is_ended

    @property
    def preempted(self) -> bool:
        """Whether it was asked to release its slots."""
        return self.asked is not None

    @property
    def yields_time_slice(self) -> bool:
        """Whether it was asked for its slots because its time slice was over."""
        return self.asked is not None and self.asked.because == "turn"

    @property
    def is_resized(self) -> bool:
        """Whether it was asked to end so that its trial resumes with a different number of slots."""
        return self.asked is not None and self.asked.because == "resize"

    def moved(self, trigger: RunTrigger, **changes: Any) -> "Run":
        """Return the run after `trigger`, with other changed fields."""
        return changed(self, state=RUN.next(self.state, trigger), **changes)

    def renewed(self, **changes: Any) -> "Run":
        """Return the run with changed fields and a higher published version."""
        return changed(self, version=self.version + 1, **changes)

    def with_gang(self, **changes: Any) -> "Run":
        return changed(self, gang=changed(self.gang, **changes))

    def with_progress(self, **changes: Any) -> "Run":
        return changed(self, progress=changed(self.progress, **changes))

    def is_on(self, worker: WorkerId) -> bool:
        """Whether it has a share on a worker. A run that has ended and released the worker has none."""
        return worker in self.workers and not (self.is_ended and worker in self.gang.released)

    def ended(self, at: datetime, is_stale: bool) -> "Run":
        """Return the run with all ranks ended; it is released if its last worker has released its slots."""
        state = RUN.next(self.state, RunTrigger.ENDED)
        if len(self.gang.released) == len(self.gang.shares):
            state = RUN.next(state, RunTrigger.RELEASED)
        return changed(self, version=self.version + 1, state=state, ended_at=at, is_stale=is_stale)

    def released_by(self, worker: WorkerId, **changes: Any) -> "Run":
        """Return the run after this worker has released its slots. An ended run is released with the last worker."""
        gang = changed(self.gang, released=self.gang.released | {worker})
        is_last = self.state is RunState.ENDED and len(gang.released) == len(gang.shares)
        state = RUN.next(self.state, RunTrigger.RELEASED) if is_last else self.state
        return changed(self, gang=gang, state=state, **changes)


def state_of(
    is_ended: bool, exits: tuple[tuple[WorkerId, RunExit], ...], asked: PreemptionNotice | None
) -> RunState:
    """Return the state of a run that a new leader has loaded. Whether GANG_GRACE has passed is not stored; the
    next cycle decides."""
    if is_ended:
        return RunState.RELEASED
    if exits:
        is_well = all(exited.is_clean for _, exited in exits)
        return RunState.ENDING if is_well else RunState.KILLING
    return RunState.PREEMPTING if asked is not None else RunState.ACTIVE


_ENDED = frozenset({RunState.ENDED, RunState.RELEASED})
