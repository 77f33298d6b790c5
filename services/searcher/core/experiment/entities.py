"""Records of experiments and trials, apart from the search itself."""

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
"""Outcome of a request. To the scheduler an invalid request failed; here it means that the script reported its hyperparameters as invalid."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best validation of an experiment that meets its limits. Of equal validations the earlier one counts."""

    trial: int
    step: int
    value: float
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredValidation:
    """A validation of a trial: its step, the first metric, and the other metrics that count by name."""

    step: int
    value: float
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialCheckpoint:
    """A checkpoint announced by a trial's run, saved or abandoned.

    A checkpoint that is not good can never be started from. `settles` means that the trial was still waiting for it.
    """

    id: CheckpointId
    run: int
    step: int
    is_good: bool = True
    settles: bool = True


class Counts(NamedTuple):
    """Number of trials in each state."""

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
        """Return the counts after a trial went from `before` (None: it is new) to `after`."""
        counts = self
        if before is not None:
            counts = changed(counts, **{before.value: getattr(counts, before.value) - 1})
        return changed(counts, **{after.value: getattr(counts, after.value) + 1})


class SearchLimits(NamedTuple):
    """Limits of a search that were edited after submission, and its usage of the budget.

    Attributes:
        operation: The newest edit.
        slot_hours, cost, deadline: The limits of its budget.
        used_slot_hours, used_cost: Usage at the last update; None if the search has no budget and nothing is counted.
    """

    operation: UUID | None = None
    max_concurrent_trials: int | None = None
    slot_hours: float | None = None
    cost: float | None = None
    deadline: datetime | None = None
    used_slot_hours: float | None = None
    used_cost: float | None = None


class ExperimentRecord(NamedTuple):
    """State of an experiment.

    Attributes:
        position: Length of its journal; the cache of search states uses it.
        version: Version of `experiment.changed`; rises with each one emitted.
        outcome: The final transition that it is heading for while `stopping`.
        priority: The config's value; the scheduler owns later changes.
        planned: Total number of trials that the search will create.
        limits: Edited limits of the search, and its budget.
        due_at: When its budget must be checked next if no event comes before.
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
    limits: SearchLimits = SearchLimits()
    due_at: datetime | None = None
    dirty: bool = False

    @property
    def is_final(self) -> bool:
        return self.state in EXPERIMENT.final

    def moved(self, trigger: ExperimentTrigger) -> "ExperimentRecord":
        """Return the experiment after `trigger`. Raises Broken if the transition does not exist."""
        return changed(self, state=EXPERIMENT.next(self.state, trigger))


@dataclass(frozen=True, slots=True)
class RunEndReport:
    """The scheduler's report of a run's end: how many validations and checkpoints the run had announced.

    None means that the numbers are unknown because the run was lost; then nothing is waited for.
    """

    run: int
    validations: int | None
    checkpoints: int | None


@dataclass(frozen=True, slots=True)
class ClosedRequest:
    """How the trial's current request ended, after `runs` runs of the trial in total."""

    outcome: Outcome
    runs: int
    reason: str | None
    at: datetime


class TrialRecord(NamedTuple):
    """State of a trial.

    Attributes:
        version: Version of `trial.changed`.
        request_version: Version of the request to the scheduler (`trial.requested`).
        request: Number of the current request.
        is_stopped: Whether the search ended it; `reached_max_time` if it reached its maximum time.
        is_paused_by_search: Whether the search paused it; resuming the experiment does not resume it.
        run: Number of the newest known run.
        reported: Newest (run, validation number) recorded; lower ones are ignored.
        settled: (run, number of its checkpoints that are saved or abandoned).
        ended: Announcements of the newest ended run.
        closed: Set once the request has ended and no further request follows.
        source: The trial that it is a copy of; it starts from that trial's `start_checkpoint`.
        checkpoint: Its own newest stored checkpoint.
        usage: Usage of its runs.
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
    desired_state: DesiredState = DesiredState.RUN
    request_version: int = 0
    request: int = 1
    is_stopped: bool = False
    reached_max_time: bool = False
    is_paused_by_search: bool = False
    run: int = 0
    reported: tuple[int, int] = (0, 0)
    settled: tuple[int, int] = (0, 0)
    ended: RunEndReport | None = None
    closed: ClosedRequest | None = None
    source: int | None = None
    start_checkpoint: CheckpointId | None = None
    checkpoint: TrialCheckpoint | None = None
    usage: TrialAccount = NEW
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
        """Whether the scheduler holds a request of this trial."""
        return self.closed is None and self.state is not TrialState.PARKED

    @property
    def is_idle(self) -> bool:
        """Whether it is queued or parked, and every known run of it has ended."""
        has_run = self.run > 0 and (self.ended is None or self.ended.run < self.run)
        return self.state is TrialState.PARKED or (self.state is TrialState.QUEUED and not has_run)

    def with_checkpoint(self, found: TrialCheckpoint) -> "TrialRecord":
        """Return the trial after one of its announced checkpoints was saved or abandoned. Checkpoints of older runs change nothing."""
        known_run, count = self.settled
        if found.run < known_run or not found.settles:
            return self
        settled = (found.run, count + 1 if found.run == known_run else 1)
        newest = self.checkpoint
        if found.is_good and (newest is None or (found.run, found.step) >= (newest.run, newest.step)):
            newest = found
        return changed(self, settled=settled, checkpoint=newest)

    def moved(self, trigger: TrialTrigger) -> "TrialRecord":
        """Return the trial after `trigger`. Raises Broken if the transition does not exist."""
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
        """Return what a closed trial still waits for, as a reason for users."""
        last = max(self.run, self.closed.runs if self.closed else 0)
        if self.ended is None or self.ended.run < last:
            return "waiting for the end of its last run"
        parts: list[str] = []
        if not self._has_validations(last, self.ended):
            parts.append("validations")
        if not self._has_checkpoints(last, self.ended):
            parts.append("checkpoints")
        return f"waiting until all {' and '.join(parts)} of its last run are stored"

    def _has_validations(self, last: int, ended: RunEndReport) -> bool:
        return not ended.validations or self.reported >= (last, ended.validations)

    def _has_checkpoints(self, last: int, ended: RunEndReport) -> bool:
        return not ended.checkpoints or self.settled >= (last, ended.checkpoints)


def trial_id(experiment: ExperimentId, number: int) -> TrialId:
    """Return the id of trial `number`, derived from the experiment's id so that a retry creates the same trial."""
    return TrialId(derived_id(experiment, "trial", number))
