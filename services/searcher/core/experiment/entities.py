"""What the searcher remembers of an experiment and of a trial, apart from the search itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from muster.config import Point
from services.searcher.core.budget.ledger import NEW, TrialAccount
from services.searcher.core.experiment.states import (
    EXPERIMENT,
    TRIAL,
    DesiredState,
    ExperimentState,
    ExperimentTrigger,
    TrialState,
    TrialTrigger,
)
from shared.ids import CheckpointId, ExperimentId, TrialId, derived_id
from shared.tuples import changed

Outcome = Literal["completed", "stopped", "parked", "cancelled", "killed", "failed", "rejected", "invalid"]
"""Of a request; to the scheduler an invalid one failed: its script calls its hyperparameters so."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best validation of an experiment within its limits; the earlier one where two are equal."""

    trial: int
    step: int
    value: float
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredValidation:
    """A validation of a trial: where, the first metric, and what else counts by name."""

    step: int
    value: float
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialCheckpoint:
    """What became of a checkpoint that a trial's run announced; one that is not good can never be started from. `settles`: it was awaited
    until now."""

    id: CheckpointId
    run: int
    step: int
    is_good: bool = True
    settles: bool = True


class Counts(NamedTuple):
    """How many trials are in each state."""

    queued: int = 0
    running: int = 0
    parked: int = 0
    stopping: int = 0
    completed: int = 0
    stopped: int = 0
    error: int = 0
    cancelled: int = 0
    invalid: int = 0
    finishing: int = 0

    @property
    def live(self) -> int:
        return self.queued + self.running + self.parked + self.stopping + self.finishing

    def moved(self, before: TrialState | None, after: TrialState) -> "Counts":
        """Return the counts after one trial went from `before` (None: it is new) to `after`."""
        counts = self
        if before is not None:
            counts = changed(counts, **{before.value: getattr(counts, before.value) - 1})
        return changed(counts, **{after.value: getattr(counts, after.value) + 1})


class SearchTerms(NamedTuple):
    """How far a search may go, where people have changed it since its config said so, and what it has used of its budget.

    Attributes:
        operation: The newest change that was made.
        slot_hours, cost, deadline: The limits of its budget.
        used_slot_hours, used_cost: By when this was told; None: it has no budget, and nothing is counted.
    """

    operation: UUID | None = None
    max_concurrent_trials: int | None = None
    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    used_slot_hours: float | None = None
    used_cost: float | None = None


class Experiment(NamedTuple):
    """An experiment's own state.

    Attributes:
        position: Length of its journal; search state is cached by it.
        version: Of `experiment.changed`; rises with each one emitted.
        outcome: The end it is heading for while `stopping`.
        priority: As the config gave it; later changes are the scheduler's.
        planned: How many trials the search makes in all.
        terms: What people have changed of the search, and its budget.
        due_at: When something must be done about its budget if nothing happens before.
        dirty: Whether progress, best or counts have changed since the last `experiment.changed`.
    """

    id: ExperimentId
    number: int
    started_at: datetime
    state: ExperimentState = EXPERIMENT.initial
    version: int = 0
    position: int = 0
    outcome: ExperimentTrigger | None = None
    reason: str | None = None
    priority: int | None = None
    planned: int | None = None
    archived: bool = False
    progress: float = 0.0
    best: Best | None = None
    counts: Counts = Counts()
    ended_at: datetime | None = None
    terms: SearchTerms = SearchTerms()
    due_at: datetime | None = None
    dirty: bool = False

    @property
    def is_final(self) -> bool:
        return self.state in EXPERIMENT.final

    def moved(self, trigger: ExperimentTrigger) -> "Experiment":
        """Return the experiment after `trigger`; a missing edge raises Broken."""
        return changed(self, state=EXPERIMENT.next(self.state, trigger))


@dataclass(frozen=True, slots=True)
class RunEndReport:
    """What the scheduler said of a run's end: how many validations and checkpoints it had announced.

    None means that nobody knows (the run was lost), and that nothing is waited for.
    """

    run: int
    validations: int | None
    checkpoints: int | None


@dataclass(frozen=True, slots=True)
class ClosedRequest:
    """How the trial's present request ended, after `runs` runs of the trial in all."""

    outcome: Outcome
    runs: int
    reason: str | None
    at: datetime


class Trial(NamedTuple):
    """A trial's own state.

    Attributes:
        version: Of `trial.changed`.
        wish: Version of `trial.wanted`.
        request: Number of the present request.
        is_stopped: Whether the search ended it; `is_at_top` because it had its whole time.
        is_held: Whether the search had it pause; a person's resumption leaves it alone.
        run: The newest run known of.
        reported: Newest (run, validation number) taken in; lower ones are ignored.
        settled: (run, how many of its checkpoints are saved or abandoned).
        ended: What the newest ended run announced.
        closed: Set once the request has ended and the trial is not wanted again.
        source: The trial that it is a copy of; `start_checkpoint` is that one's, from which it starts.
        checkpoint: Its own newest that is stored.
        account: What its runs have used, and hold.
    """

    id: TrialId
    number: int
    point: Point
    seed: int
    slots: int
    created_at: datetime
    decide_at: float | None = None
    state: TrialState = TRIAL.initial
    version: int = 0
    wanted: DesiredState = DesiredState.RUN
    wish: int = 0
    request: int = 1
    is_stopped: bool = False
    is_at_top: bool = False
    is_held: bool = False
    run: int = 0
    reported: tuple[int, int] = (0, 0)
    settled: tuple[int, int] = (0, 0)
    ended: RunEndReport | None = None
    closed: ClosedRequest | None = None
    source: int | None = None
    start_checkpoint: CheckpointId | None = None
    checkpoint: TrialCheckpoint | None = None
    account: TrialAccount = NEW
    best: ScoredValidation | None = None
    latest: ScoredValidation | None = None
    reason: str | None = None
    ended_at: datetime | None = None
    dirty: bool = False

    @property
    def is_final(self) -> bool:
        return self.state in TRIAL.final

    @property
    def is_open(self) -> bool:
        """Whether a request of it stands with the scheduler."""
        return self.closed is None and self.state is not TrialState.PARKED

    @property
    def is_idle(self) -> bool:
        """Whether it waits, or is parked, and every run of it that is known has ended."""
        has_run = self.run > 0 and (self.ended is None or self.ended.run < self.run)
        return self.state is TrialState.PARKED or (self.state is TrialState.QUEUED and not has_run)

    def with_checkpoint(self, found: TrialCheckpoint) -> "Trial":
        """Return the trial with one of its announced checkpoints saved or given up, and counted; that of an old run changes nothing."""
        known_run, count = self.settled
        if found.run < known_run or not found.settles:
            return self
        settled = (found.run, count + 1 if found.run == known_run else 1)
        newest = self.checkpoint
        if found.is_good and (newest is None or (found.run, found.step) >= (newest.run, newest.step)):
            newest = found
        return changed(self, settled=settled, checkpoint=newest)

    def moved(self, trigger: TrialTrigger) -> "Trial":
        """Return the trial after `trigger`; a missing edge raises Broken."""
        return changed(self, state=TRIAL.next(self.state, trigger))

    def is_complete(self) -> bool:
        """Whether its request closed and everything that its last run announced has arrived."""
        if self.closed is None:
            return False
        last = max(self.run, self.closed.runs)
        if last == 0:
            return True
        if self.ended is None or self.ended.run < last:
            return False
        return self._has_validations(last, self.ended) and self._has_checkpoints(last, self.ended)

    def missing(self) -> str:
        """What of a closed trial has not arrived, in words."""
        last = max(self.run, self.closed.runs if self.closed else 0)
        if self.ended is None or self.ended.run < last:
            return "the end of its last run is not known yet"
        parts: list[str] = []
        if not self._has_validations(last, self.ended):
            parts.append("validations")
        if not self._has_checkpoints(last, self.ended):
            parts.append("checkpoints")
        return f"not all {' and '.join(parts)} of its last run are stored yet"

    def _has_validations(self, last: int, ended: RunEndReport) -> bool:
        return not ended.validations or self.reported >= (last, ended.validations)

    def _has_checkpoints(self, last: int, ended: RunEndReport) -> bool:
        return not ended.checkpoints or self.settled >= (last, ended.checkpoints)


def trial_id(experiment: ExperimentId, number: int) -> TrialId:
    """Return the id of trial `number`: the same cause always makes the same trial."""
    return TrialId(derived_id(experiment, "trial", number))
