"""A run with its allocation, and the rule for what follows from its end (architecture: a trial's way, 6)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from services.scheduler.core.asked import Asked
from services.scheduler.core.pauses import Took
from services.scheduler.core.run_states import RUN, RunState
from services.scheduler.core.slots import SlotCount, count_of
from services.scheduler.core.trial import Trial
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.specs import UNCATEGORIZED, PolicyAction, Signal, Thousandths, Wanted
from shared.tuples import changed

MAX_FRUITLESS = 10
"""So many uncharged ends in a row without progress end a trial."""
TURN_OVER = "its turn was over, and others of equal right were waiting"

RunOutcome = Literal["completed", "stopped", "parked", "preempted", "cancelled", "killed", "failed", "lost"]
RequestOutcome = Literal["completed", "stopped", "parked", "cancelled", "killed", "failed", "rejected"]


SIGNALS: Mapping[Wanted, Signal] = {
    Wanted.RUN: Signal.RUN,
    Wanted.PARK: Signal.PAUSE,
    Wanted.STOP: Signal.STOP,
    Wanted.CANCEL: Signal.CANCEL,
    Wanted.KILL: Signal.KILL,
}
_ENDS: Mapping[Wanted, RequestOutcome] = {
    Wanted.PARK: "parked",
    Wanted.STOP: "stopped",
    Wanted.CANCEL: "cancelled",
    Wanted.KILL: "killed",
}
_ACKNOWLEDGED: Mapping[Signal, RequestOutcome] = {
    Signal.STOP: "stopped",
    Signal.PAUSE: "parked",
    Signal.CANCEL: "cancelled",
}


class Share(NamedTuple):
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


class Exit(NamedTuple):
    """What one member, or the gang as a whole, said when its ranks had ended. `is_invalid`: its script calls its hyperparameters invalid.
    `policies`: names and actions of the log policies that its output met."""

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


class Run(NamedTuple):
    """One attempt at a trial with the slots granted to it. A tuple, as is a trial: a grant and an end change them eight times.

    Attributes:
        preempted: It was asked to give its slots back; `asked`: why. `pause_asked`: to pause. `kill_rest`: to end with its gang.
        seen: Members that have named the allocation; one that no longer does has lost it.
        saved_at: When it was last heard to have saved a checkpoint; what came after is lost when it is asked to go.
        announced: Checkpoints that it announced in its life (None: not ended, or lost); `settled` are no longer waited for.
        exits: What the members said that have ended, in their order; `released`: workers whose slots this run no longer holds.
        is_live: Its script can be resized while it trains.
        target: The members of the gang that it forms since `resized_at` (see `elastic.forming`); none: it trains with all `shares`.
        prepared: Those that have what they need; `joined`: that train in it. `former`: workers that had a part once.
        hung, broken: Members that say that their ranks hang, or wait since their gang broke. Known in memory only: they say it again each
            second.
        took: How long it stood still when it began, was resized and was asked to go.
    """

    id: RunId
    allocation: AllocationId
    trial: TrialId
    tenant: TenantId
    experiment: ExperimentId
    pool: PoolName
    number: int
    token: int
    request: int
    shares: tuple[Share, ...]
    granted_at: datetime
    workspace: str = UNCATEGORIZED
    owner: str = ""
    generation: int = 1
    version: int = 1
    state: RunState = RUN.initial
    preempted: bool = False
    pause_asked: bool = False
    rendezvous: str | None = None
    step: int = 0
    checkpoints: int = 0
    settled: int = 0
    announced: int | None = None
    kill_rest: bool = False
    seen: frozenset[WorkerId] = frozenset()
    exits: tuple[tuple[WorkerId, Exit], ...] = ()
    released: frozenset[WorkerId] = frozenset()
    first_exit_at: datetime | None = None
    ended_at: datetime | None = None
    is_stale: bool = False
    saved_at: datetime | None = None
    asked: Asked | None = None
    is_live: bool = False
    target: tuple[Share, ...] = ()
    prepared: frozenset[WorkerId] = frozenset()
    joined: frozenset[WorkerId] = frozenset()
    resized_at: datetime | None = None
    former: frozenset[WorkerId] = frozenset()
    hung: frozenset[WorkerId] = frozenset()
    broken: frozenset[WorkerId] = frozenset()
    took: Took = Took()

    @property
    def hangs(self) -> bool:
        """Whether all of a gang over several workers hangs: a rank that waits for one that works elsewhere is no proof."""
        return len(self.shares) > 1 and not self.target and self.hung >= self.workers

    @property
    def members(self) -> tuple[Share, ...]:
        """Who is to train in it."""
        return self.target or self.shares

    @property
    def slots(self) -> SlotCount:
        return sum(share.charged for share in self.shares)

    @property
    def chief(self) -> WorkerId:
        return self.shares[0].worker

    @property
    def is_ended(self) -> bool:
        return self.state is RunState.ENDED

    @property
    def is_over(self) -> bool:
        """Whether it has ended and holds nothing any more."""
        return self.is_ended and len(self.released) == len(self.shares)

    @property
    def yields(self) -> bool:
        """Whether it was asked for its slots because its turn was over."""
        return self.asked is not None and self.asked.because == "turn"

    @property
    def is_resized(self) -> bool:
        """Whether it was asked to end so that its trial goes on with other slots."""
        return self.asked is not None and self.asked.because == "resize"

    @property
    def is_settled(self) -> bool:
        """Whether nothing that it announced is still on its way."""
        return self.announced is None or self.settled >= self.announced

    @property
    def workers(self) -> frozenset[WorkerId]:
        return frozenset([share.worker for share in self.shares])


class Ending(NamedTuple):
    """What an end means: for the run, for the counts of its trial, and whether its request closes."""

    outcome: RunOutcome
    closes: RequestOutcome | None
    charged: bool = False
    reason: str | None = None
    counts_as_fruitless: bool = False
    is_invalid: bool = False


def combined(run: Run) -> Exit:
    """The gang's exit: the counts are the chief's, the cause is the first that calls the hyperparameters invalid, or else the first
    failure, or else the chief's end."""
    exits = dict(run.exits)
    chief = exits[run.chief]
    failed = [exited for _, exited in run.exits if not exited.is_clean]
    cause = next((exited for exited in failed if exited.is_invalid), failed[0] if failed else chief)
    acknowledged = next((exited.acknowledged for _, exited in run.exits if exited.acknowledged), None)
    if acknowledged is not None and chief.acknowledged is not None:
        cause = chief
    return changed(
        cause,
        acknowledged=acknowledged if cause.is_clean else None,
        validations=chief.validations,
        checkpoints=chief.checkpoints,
        step=max(run.step, chief.step),
        policies=tuple(dict.fromkeys(met for exited in exits.values() for met in exited.policies)),
    )


def judge_exit(trial: Trial, run: Run, exited: Exit) -> Ending:
    """What follows from an exit. In this order: invalid hyperparameters of what is to go on, an acknowledged signal, force, exit 0, what
    was wanted, whose fault."""
    wanted = trial.wish.wanted
    if exited.is_invalid and wanted in (Wanted.RUN, Wanted.PARK):
        return Ending("failed", closes="failed", reason=exited.reason, is_invalid=True)
    if exited.acknowledged is not None:
        return _judge_acknowledged(trial, run, exited.acknowledged)
    if exited.forced:
        return _judge_forced(trial, run, exited)
    if exited.exit_code == 0:
        return Ending("completed", closes="completed")
    if wanted is not Wanted.RUN:
        return _closed_as_wanted(wanted)
    reason = exited.reason or f"the run exited with code {exited.exit_code}"
    if last_by := next((name for name, action in exited.policies if action == "cancel_retries"), None):
        given_up = f"{reason}; it is not tried again: log policy '{last_by}' was met"
        return Ending("failed", closes="failed", reason=given_up)
    if exited.is_machine_fault:
        return _judge_trouble(trial, run, reason)
    if trial.restarts >= trial.wish.max_restarts:
        left = f"; max_restarts is {trial.wish.max_restarts}"
        return Ending("failed", closes="failed", reason=reason + left)
    return Ending("failed", closes=None, charged=True, reason=reason)


def judge_loss(trial: Trial, run: Run, reason: str) -> Ending:
    """What follows when machines took the run away: free of charge, but not without end."""
    if trial.wish.wanted is not Wanted.RUN:
        return _closed_as_wanted(trial.wish.wanted)._replace(outcome="lost", reason=reason)
    return _judge_trouble(trial, run, reason)


def _judge_acknowledged(trial: Trial, run: Run, signal: Signal) -> Ending:
    wanted = trial.wish.wanted
    if signal is Signal.PREEMPT:
        return Ending("preempted", closes=_ENDS.get(wanted), reason=TURN_OVER if run.yields else None)
    if signal is Signal.PAUSE and run.pause_asked and wanted is Wanted.RUN:
        # Paused and resumed before the ranks had ended: the resumption stands.
        return Ending("parked", closes=None)
    if signal in _ACKNOWLEDGED:
        outcome = _ACKNOWLEDGED[signal]
        if signal is Signal.PAUSE and wanted in (Wanted.STOP, Wanted.CANCEL, Wanted.KILL):
            return Ending("parked", closes=_ENDS[wanted])
        return Ending(_as_run(outcome), closes=outcome)
    return (
        Ending("killed", closes="killed")
        if wanted is Wanted.KILL
        else Ending("completed", closes="completed")
    )


def _judge_forced(trial: Trial, run: Run, exited: Exit) -> Ending:
    if trial.wish.wanted is not Wanted.RUN:
        return _closed_as_wanted(trial.wish.wanted)
    if run.preempted:
        return Ending("preempted", closes=None, reason="the run did not stop within preemption_timeout")
    return _judge_trouble(trial, run, exited.reason or "the worker ended the run")


def _judge_trouble(trial: Trial, run: Run, reason: str) -> Ending:
    has_progress = run.step > trial.best_step or run.checkpoints > 0
    if not has_progress and trial.fruitless + 1 >= MAX_FRUITLESS:
        given_up = f"{reason}; {MAX_FRUITLESS} times in a row without a new checkpoint or a higher step"
        return Ending("lost", closes="failed", reason=given_up, counts_as_fruitless=True)
    return Ending("lost", closes=None, reason=reason, counts_as_fruitless=not has_progress)


def _closed_as_wanted(wanted: Wanted) -> Ending:
    return Ending(_as_run(_ENDS[wanted]), closes=_ENDS[wanted])


def _as_run(outcome: RequestOutcome) -> RunOutcome:
    return "failed" if outcome == "rejected" else outcome


def outcome_without_run(wanted: Wanted) -> RequestOutcome:
    """How a request closes that is no longer wanted and has no run."""
    return _ENDS[wanted]
