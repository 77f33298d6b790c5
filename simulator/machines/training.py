"""What really happens in a gang: it trains once all members have started, saves, stops when told, and fails together.

Machines (`machine`) start and kill ranks; the scheduler knows of it only what they say.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from services.scheduler.core.run import Exit, Run
from shared.ids import AllocationId, TrialId, WorkerId
from shared.messages.specs import Signal
from simulator.agenda import Agenda
from simulator.machines.registry import Registry
from simulator.trials import Item, Spread
from simulator.watching.watch import Watch

BREAK_MS = 1000
"""From the death of a member to the failure of the others."""
_SAVED_ON = frozenset({Signal.PREEMPT, Signal.PAUSE, Signal.STOP})
BROKEN = Exit(exit_code=1, reason="the gang lost a member")


class Member(Protocol):
    """A machine's part of a gang."""

    def on_exit(self, allocation: AllocationId, exited: Exit) -> None:
        """Its ranks have ended by themselves."""
        ...

    def on_saved(self, allocation: AllocationId, run: Run, number: int, progress: float) -> None:
        """The chief has saved a checkpoint, which is to be uploaded."""
        ...


@dataclass(slots=True)
class Attempt:
    """One run's ranks on all its machines."""

    run: Run
    item: Item
    members: dict[WorkerId, Member] = field(default_factory=dict)
    progress: float = 0.0
    since_ms: int | None = None
    saved_ms: int = 0
    checkpoints: int = 0
    signal: Signal = Signal.RUN
    is_over: bool = False
    plan: int = 0

    @property
    def is_training(self) -> bool:
        return self.since_ms is not None and not self.is_over

    @property
    def spread(self) -> Spread:
        return tuple(share.slots for share in self.run.shares)

    @property
    def step(self) -> int:
        """Progress as the trial's own steps: a thousand from beginning to end."""
        return int(1000 * self.progress / self.item.work.total)


class Training:
    """All attempts under way.

    Args:
        item_of: What a trial has to do.
        fails: Whether user code fails at the next stop of an attempt; asked once for each.
    """

    def __init__(
        self,
        agenda: Agenda,
        registry: Registry,
        watch: Watch,
        item_of: Callable[[TrialId], Item],
        fails: Callable[[], bool],
    ) -> None:
        self._agenda = agenda
        self._registry = registry
        self._watch = watch
        self._item_of = item_of
        self._fails = fails
        self._attempts: dict[AllocationId, Attempt] = {}

    def item_of(self, run: Run) -> Item:
        return self._item_of(run.trial)

    def attempt(self, allocation: AllocationId) -> Attempt | None:
        return self._attempts.get(allocation)

    def join(self, run: Run, worker: WorkerId, member: Member, progress: float) -> None:
        """A machine has started its ranks; the last to do so begins the training. `progress` counts from the chief only."""
        attempt = self._attempts.get(run.allocation)
        if attempt is None:
            attempt = self._attempts[run.allocation] = Attempt(run, self._item_of(run.trial))
        if attempt.is_over:
            self._agenda.after(BREAK_MS, lambda: member.on_exit(run.allocation, BROKEN))
            return
        attempt.members[worker] = member
        if worker == run.chief:
            attempt.progress = progress
        if len(attempt.members) == len(run.shares):
            attempt.since_ms = attempt.saved_ms = self._agenda.now_ms
            self._watch.on_training(run)
            if attempt.signal is not Signal.RUN:
                self._stop_soon(attempt)
            self._look_ahead(attempt)

    def leave(self, allocation: AllocationId, worker: WorkerId) -> None:
        """A machine's ranks were killed: the others fail soon."""
        attempt = self._attempts.get(allocation)
        if attempt is None or attempt.members.pop(worker, None) is None:
            return
        if not attempt.is_over:
            self._bring_up_to_date(attempt)
            attempt.is_over = True
            self._agenda.after(BREAK_MS, lambda: self._end(attempt, BROKEN))
        if not attempt.members:
            self._attempts.pop(allocation, None)

    def tell(self, allocation: AllocationId, worker: WorkerId, signal: Signal) -> None:
        """The ranks of a machine are asked to stop; rank 0's answer is everybody's."""
        attempt = self._attempts.get(allocation)
        if attempt is None or worker != attempt.run.chief or attempt.signal is signal:
            return
        attempt.signal = signal
        if attempt.is_training and signal is not Signal.RUN:
            self._stop_soon(attempt)

    def progress(self, attempt: Attempt) -> float:
        """Brought up to now."""
        self._bring_up_to_date(attempt)
        return attempt.progress

    def _look_ahead(self, attempt: Attempt) -> None:
        """Put down what comes next by itself: the end, a checkpoint, or a change of pace."""
        item, now_ms = attempt.item, self._agenda.now_ms
        pace = item.work.pace(attempt.spread, attempt.progress)
        left = min(pace.until, item.work.total) - attempt.progress
        due_ms = now_ms + max(1, _ceil(left / pace.per_ms))
        if item.checkpoint_ms is not None:
            due_ms = min(due_ms, attempt.saved_ms + item.checkpoint_ms)
        attempt.plan += 1
        number = attempt.plan
        self._agenda.at(due_ms, lambda: self._come_to(attempt, number))

    def _come_to(self, attempt: Attempt, number: int) -> None:
        if attempt.is_over or attempt.plan != number:
            return
        self._bring_up_to_date(attempt)
        if attempt.progress >= attempt.item.work.total:
            self._end(attempt, Exit(checkpoints=attempt.checkpoints, step=attempt.step))
        elif self._fails():
            failed = Exit(exit_code=1, reason="the trial's code failed", checkpoints=attempt.checkpoints)
            self._end(attempt, failed)
        else:
            self._save_if_due(attempt)
            self._look_ahead(attempt)

    def _bring_up_to_date(self, attempt: Attempt) -> None:
        now_ms = self._agenda.now_ms
        if attempt.since_ms is None or attempt.is_over:
            return
        work = attempt.item.work
        pace = work.pace(attempt.spread, attempt.progress)
        reached = attempt.progress + (now_ms - attempt.since_ms) * pace.per_ms
        attempt.progress = min(reached, pace.until, work.total)
        attempt.since_ms = now_ms

    def _save_if_due(self, attempt: Attempt) -> None:
        period_ms = attempt.item.checkpoint_ms
        if period_ms is not None and self._agenda.now_ms >= attempt.saved_ms + period_ms:
            self._save(attempt)

    def _save(self, attempt: Attempt) -> None:
        attempt.checkpoints += 1
        attempt.saved_ms = self._agenda.now_ms
        chief = attempt.members[attempt.run.chief]
        chief.on_saved(attempt.run.allocation, attempt.run, attempt.checkpoints, attempt.progress)

    def _stop_soon(self, attempt: Attempt) -> None:
        signal = attempt.signal
        self._agenda.after(attempt.item.stop_ms, lambda: self._stop(attempt, signal))

    def _stop(self, attempt: Attempt, signal: Signal) -> None:
        if attempt.is_over or attempt.signal is not signal:
            return
        self._bring_up_to_date(attempt)
        if signal in _SAVED_ON:
            self._save(attempt)
        self._end(attempt, Exit(acknowledged=signal, checkpoints=attempt.checkpoints, step=attempt.step))

    def _end(self, attempt: Attempt, exited: Exit) -> None:
        attempt.is_over = True
        self._attempts.pop(attempt.run.allocation, None)
        members, attempt.members = attempt.members, {}
        for member in members.values():
            member.on_exit(attempt.run.allocation, exited)


def _ceil(value: float) -> int:
    whole = int(value)
    return whole if whole == value else whole + 1
