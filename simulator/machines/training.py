"""Simulates the ranks of a gang: they train once all members have started, save, stop when asked, and fail together.

`machine` starts and kills ranks. The scheduler only knows what machines report.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from services.scheduler.core.state.records.run import Run, RunExit
from shared.ids import AllocationId, TrialId, WorkerId
from shared.messages.trial_specs import Signal
from simulator.event_queue import EventQueue
from simulator.machines.registry import SimulatedRegistry
from simulator.observers.observer import Observer
from simulator.searching.messages import Verdict
from simulator.trials import Spread, WorkloadTrial

ANSWER_MS = 2000
"""How long ranks wait for a verdict. Then they continue, and a late verdict applies at the next step."""
BREAK_MS = 1000
"""From the death of a member to the failure of the others."""
_SAVED_ON = frozenset({Signal.PREEMPT, Signal.PAUSE, Signal.STOP})
BROKEN = RunExit(exit_code=1, reason="the gang lost a member")


class GangMember(Protocol):
    """A machine's share of a gang."""

    def on_exit(self, allocation: AllocationId, exited: RunExit) -> None:
        """Its ranks have exited."""

    def on_validated(self, run: Run, number: int, step: int) -> None:
        """The chief has validated; the machine reports it."""

    def on_saved(self, allocation: AllocationId, run: Run, number: int, progress: float) -> None:
        """The chief has saved a checkpoint; the machine uploads it."""


@dataclass(slots=True)
class GangAttempt:
    """One run's ranks on all its machines.

    Attributes:
        validated: The last validated step. `validations` counts the validations.
        decide_at: A validation at or after it waits for a verdict; None: never.
        is_held: The ranks wait for the verdict on the last validation.
        is_resized: It stops to resume with other slots, which its script can do live.
    """

    run: Run
    item: WorkloadTrial
    members: dict[WorkerId, GangMember] = field(default_factory=dict)
    progress: float = 0.0
    since_ms: int | None = None
    saved_ms: int = 0
    checkpoints: int = 0
    validated: int = 0
    validations: int = 0
    decide_at: float | None = None
    is_held: bool = False
    signal: Signal = Signal.RUN
    is_over: bool = False
    is_resized: bool = False
    plan: int = 0

    @property
    def is_training(self) -> bool:
        return self.since_ms is not None and not self.is_over

    @property
    def spread(self) -> Spread:
        return tuple(share.slots for share in self.run.shares)

    @property
    def step(self) -> int:
        """Progress in the trial's own steps."""
        return int(self.item.steps * self.progress / self.item.work.total)

    @property
    def next_validation(self) -> float:
        """The progress at which the next validation is due; infinity: none."""
        reports, last = self.item.reports, self.item.steps
        if reports is None or self.validated >= last:
            return inf
        return min(self.validated + reports.every, last)


class Training:
    """All active attempts.

    Args:
        item_of: Returns the work of a trial.
        fails: Whether user code fails at the next stop of an attempt; called once for each.
    """

    def __init__(
        self,
        agenda: EventQueue,
        registry: SimulatedRegistry,
        watch: Observer,
        item_of: Callable[[TrialId], WorkloadTrial],
        fails: Callable[[], bool],
    ) -> None:
        self._agenda = agenda
        self._registry = registry
        self._watch = watch
        self._item_of = item_of
        self._fails = fails
        self._attempts: dict[AllocationId, GangAttempt] = {}
        self._resized: set[TrialId] = set()

    def item_of(self, run: Run) -> WorkloadTrial:
        return self._item_of(run.trial)

    def launch_ms(self, run: Run) -> int:
        """Return the time from a run's grant to its first step. A live resize is simulated as an end and a new
        start within its pause."""
        item, is_resized = self._item_of(run.trial), run.trial in self._resized
        return max(0, (item.resize_ms or 0) - item.upload_ms) if is_resized else item.launch_ms

    def attempt(self, allocation: AllocationId) -> GangAttempt | None:
        return self._attempts.get(allocation)

    def join(
        self, run: Run, worker: WorkerId, member: GangMember, progress: float, decide_at: float | None
    ) -> None:
        """Add the started ranks of a machine; the last member starts the training. The initial progress is the
        chief's."""
        attempt = self._attempts.get(run.allocation)
        if attempt is None:
            attempt = self._attempts[run.allocation] = GangAttempt(run, self._item_of(run.trial))
        if attempt.is_over:
            self._agenda.after(BREAK_MS, lambda: member.on_exit(run.allocation, BROKEN))
            return
        attempt.members[worker] = member
        if worker == run.chief:
            attempt.progress, attempt.decide_at = progress, decide_at
            if attempt.item.reports is not None:
                attempt.validated = attempt.step - attempt.step % attempt.item.reports.every
        if len(attempt.members) == len(run.shares):
            attempt.since_ms = attempt.saved_ms = self._agenda.now_ms
            self._resized.discard(run.trial)
            self._watch.on_training(run)
            if attempt.signal is not Signal.RUN:
                self._stop_soon(attempt)
            self._look_ahead(attempt)

    def leave(self, allocation: AllocationId, worker: WorkerId) -> None:
        """Remove the killed ranks of a machine; the others fail soon."""
        attempt = self._attempts.get(allocation)
        if attempt is None or attempt.members.pop(worker, None) is None:
            return
        if not attempt.is_over:
            self._bring_up_to_date(attempt)
            attempt.is_over = True
            self._agenda.after(BREAK_MS, lambda: self._end(attempt, BROKEN))
        if not attempt.members:
            self._attempts.pop(allocation, None)

    def signal(self, run: Run, worker: WorkerId, signal: Signal, decide_at: float | None) -> None:
        """Signal a machine's ranks to stop or to continue; only rank 0 decides."""
        attempt = self._attempts.get(run.allocation)
        if attempt is None or worker != attempt.run.chief:
            return
        attempt.decide_at = decide_at
        if attempt.signal is signal:
            return
        attempt.signal = signal
        attempt.is_resized = run.is_resized and attempt.item.resize_ms is not None
        if attempt.is_training and signal is not Signal.RUN:
            self._stop_soon(attempt)

    def judge(self, verdict: Verdict) -> None:
        """Apply the verdict on a validation, which may be late: waiting ranks continue or stop."""
        attempt = self._attempts.get(verdict.run.allocation)
        if attempt is None or not attempt.is_training or attempt.signal is not Signal.RUN:
            return
        attempt.decide_at = verdict.decide_at
        if verdict.decision != "go_on":
            attempt.signal = Signal.STOP if verdict.decision == "stop" else Signal.PAUSE
            self._stop_soon(attempt)
        elif attempt.is_held and verdict.validation == attempt.validations:
            self._go_on(attempt)

    def progress(self, attempt: GangAttempt) -> float:
        """Return the current progress."""
        self._bring_up_to_date(attempt)
        return attempt.progress

    def _look_ahead(self, attempt: GangAttempt) -> None:
        """Schedule the next stop: the end, a checkpoint, or a change of pace."""
        item, now_ms = attempt.item, self._agenda.now_ms
        pace = item.work.pace(attempt.spread, attempt.progress)
        left = min(pace.until, item.work.total, attempt.next_validation) - attempt.progress
        due_ms = now_ms + max(1, _ceil(left / pace.per_ms))
        if item.checkpoint_ms is not None:
            due_ms = min(due_ms, attempt.saved_ms + item.checkpoint_ms)
        attempt.plan += 1
        number = attempt.plan
        self._agenda.at(due_ms, lambda: self._come_to(attempt, number))

    def _come_to(self, attempt: GangAttempt, number: int) -> None:
        if attempt.is_over or attempt.plan != number:
            return
        self._bring_up_to_date(attempt)
        if attempt.progress >= attempt.next_validation:
            self._validate(attempt)
        if not attempt.is_held:
            self._proceed(attempt)

    def _validate(self, attempt: GangAttempt) -> None:
        """Report, and wait for the verdict if the search decides at this step."""
        reports = attempt.item.reports
        assert reports is not None
        attempt.validated = int(attempt.next_validation)
        attempt.validations += 1
        run = attempt.run
        attempt.members[run.chief].on_validated(run, attempt.validations, attempt.validated)
        if attempt.decide_at is not None and reports.time(attempt.validated) >= attempt.decide_at:
            attempt.is_held = True
            number = attempt.plan
            self._agenda.after(
                ANSWER_MS,
                lambda: self._go_on(attempt) if attempt.plan == number and attempt.is_held else None,
            )

    def _go_on(self, attempt: GangAttempt) -> None:
        attempt.is_held = False
        if not attempt.is_over:
            attempt.since_ms = self._agenda.now_ms
            self._proceed(attempt)

    def _proceed(self, attempt: GangAttempt) -> None:
        """Continue after a stop: end, fail, save, or train on."""
        if attempt.progress >= attempt.item.work.total:
            self._end(attempt, self._exit(attempt))
        elif self._fails():
            failed = self._exit(attempt)._replace(exit_code=1, reason="the trial's code failed", step=0)
            self._end(attempt, failed)
        else:
            self._save_if_due(attempt)
            self._look_ahead(attempt)

    def _exit(self, attempt: GangAttempt, acknowledged: Signal | None = None) -> RunExit:
        return RunExit(
            acknowledged=acknowledged,
            validations=attempt.validations,
            checkpoints=attempt.checkpoints,
            step=attempt.step,
        )

    def _bring_up_to_date(self, attempt: GangAttempt) -> None:
        now_ms = self._agenda.now_ms
        if attempt.since_ms is None or attempt.is_over or attempt.is_held:
            return
        work = attempt.item.work
        pace = work.pace(attempt.spread, attempt.progress)
        reached = attempt.progress + (now_ms - attempt.since_ms) * pace.per_ms
        attempt.progress = min(reached, pace.until, work.total)
        attempt.since_ms = now_ms

    def _save_if_due(self, attempt: GangAttempt) -> None:
        period_ms = attempt.item.checkpoint_ms
        if period_ms is not None and self._agenda.now_ms >= attempt.saved_ms + period_ms:
            self._save(attempt)

    def _save(self, attempt: GangAttempt) -> None:
        attempt.checkpoints += 1
        attempt.saved_ms = self._agenda.now_ms
        chief = attempt.members[attempt.run.chief]
        chief.on_saved(attempt.run.allocation, attempt.run, attempt.checkpoints, attempt.progress)

    def _stop_soon(self, attempt: GangAttempt) -> None:
        signal = attempt.signal
        stop_ms = 0 if attempt.is_resized else attempt.item.stop_ms
        self._agenda.after(stop_ms, lambda: self._stop(attempt, signal))

    def _stop(self, attempt: GangAttempt, signal: Signal) -> None:
        if attempt.is_over or attempt.signal is not signal:
            return
        self._bring_up_to_date(attempt)
        if attempt.is_resized:
            self._resized.add(attempt.run.trial)
        if signal in _SAVED_ON:
            self._save(attempt)
        self._end(attempt, self._exit(attempt, signal))

    def _end(self, attempt: GangAttempt, exited: RunExit) -> None:
        attempt.is_over = True
        self._attempts.pop(attempt.run.allocation, None)
        members, attempt.members = attempt.members, {}
        for member in members.values():
            member.on_exit(attempt.run.allocation, exited)


def _ceil(value: float) -> int:
    whole = int(value)
    return whole if whole == value else whole + 1
