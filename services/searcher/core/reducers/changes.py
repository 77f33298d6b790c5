"""Changes of one experiment in one transaction. Reducers fill them; `decide` returns what to save and emit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from muster.config import ExperimentConfig
from services.searcher.core.budget.limits import millis
from services.searcher.core.experiment.entities import (
    Best,
    ExperimentRecord,
    ScoredValidation,
    TrialRecord,
    trial_id,
)
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import Result
from services.searcher.core.experiment.states import ONGOING, DesiredState, ExperimentTrigger, TrialTrigger
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.journal import SearchJournal
from services.searcher.core.methods.interface import ResumeTrial
from services.searcher.core.reducers.budget_status import with_budget_status
from services.searcher.core.search.actions import Proposal
from services.searcher.core.search.search import Search
from shared.tuples import changed

VerdictKind = Literal["go_on", "stop", "pause"]


@dataclass(frozen=True, slots=True)
class ValidationVerdict:
    """The verdict on a validation, for the worker that waits for it."""

    trial: int
    run: int
    validation: int
    verdict: VerdictKind
    decide_at: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """Rows to save and messages to emit in a transaction.

    Attributes:
        trials: Every new or changed trial, by number.
        requested: Numbers of trials with a new request (`trial.requested`), in the order of the decisions.
        changed: Numbers of trials whose state is published at once (`trial.changed`).
        is_announced: Whether the experiment's state is published at once (`experiment.changed`).
        is_rescheduled: Whether the time of its next budget check has changed.
    """

    experiment: ExperimentRecord
    trials: dict[int, TrialRecord]
    entries: tuple[Entry, ...]
    requested: tuple[int, ...]
    changed: tuple[int, ...]
    judged: tuple[ValidationVerdict, ...]
    is_announced: bool
    is_rescheduled: bool = False

    @property
    def is_change(self) -> bool:
        """Whether there is anything to save."""
        return bool(self.trials or self.entries or self.is_announced or self.is_rescheduled)


class Changes:
    """An experiment, the trials that the events concern, and the search, in their current state.

    A transaction creates one, applies any number of reducers, loads what they ask for, and calls `decide` once.
    Events of a trial need that trial; commands need all live trials; operations of a driver program need those that
    `Search.named_by` returns. Reducers ask for more through:

    - `missing`: trials for `go_on`;
    - `needs_bests`: the best results of all trials for `choose_best`;
    - `needs_rest`: the other live trials for `end_rest`.

    Nothing is emitted before `decide`. If the transaction fails, discard the changes together with the search.

    Attributes:
        experiment: Its record; `put` keeps its counts consistent with the trials.
        trials: The loaded records, by number.
        search: The mutable search that reducers advance; `journal` records each step of it.
        judged: Verdicts on validations, in the order of the decisions.
        is_announced: Whether the experiment's state is published at once.
        resuming, copies: Steps of the search that wait for trials to be loaded.
        ending: How every trial must end because the whole search ends.
        invalidated: The trial whose result was the experiment's best and no longer counts.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        experiment: ExperimentRecord,
        trials: Iterable[TrialRecord],
        search: Search,
        now: datetime,
    ) -> None:
        self.config = config
        self.objectives = Objectives.of(config)
        self.experiment = experiment
        self.trials = {trial.number: trial for trial in trials}
        self.search = search
        self.journal = SearchJournal(search, experiment.position)
        self.now = now
        self.judged: list[ValidationVerdict] = []
        self.is_announced = False
        self.resuming: dict[int, ResumeTrial] = {}
        self.copies: list[Proposal] = []
        self.ending: DesiredState | None = None
        self.invalidated: TrialRecord | None = None
        self._before = experiment
        self._touched: dict[int, TrialRecord] = {}
        self._requested: dict[int, None] = {}
        self._changed: dict[int, None] = {}
        if search.spending.is_counting:
            search.spending.advance_time(millis(now))

    # --- what must be loaded

    @property
    def missing(self) -> list[int]:
        """Trials to resume or copy that are not loaded, for `go_on`."""
        return sorted({*self.resuming, *(each.source for each in self.copies if each.source is not None)})

    @property
    def needs_bests(self) -> bool:
        """Whether the best result no longer counts, so that `choose_best` needs the bests of all trials."""
        return self.invalidated is not None

    @property
    def needs_rest(self) -> bool:
        """Whether the whole search ends, so that `end_rest` needs the experiment's other live trials."""
        return (self.ending is not None or self.abandons_paused) and self.experiment.counts.live > 0

    # --- the experiment

    @property
    def is_ongoing(self) -> bool:
        """Whether the search is active or paused."""
        return self.experiment.state in ONGOING

    @property
    def abandons_paused(self) -> bool:
        """Whether the only trials left are paused by the search and will never resume."""
        return self.search.is_exhausted and self.search.has_paused_trials and self.is_ongoing

    def move(self, trigger: ExperimentTrigger) -> None:
        """Apply a transition to the experiment and publish it."""
        self.experiment = self.experiment.moved(trigger)
        self.is_announced = True

    def measure(self, has_advanced: bool = True) -> None:
        """Update progress and the planned number of trials. Progress never falls, even after an invalid trial.

        A stopping search ends its trials early, so it makes no progress; neither does a trial that failed or was
        cancelled (`has_advanced` is false).
        """
        progress = self.experiment.progress
        if has_advanced and self.is_ongoing:
            progress = max(progress, self.search.progress())
        self.experiment = changed(self.experiment, progress=progress, planned=self.search.planned())

    # --- trials

    def live(self) -> list[TrialRecord]:
        """Return the loaded trials that are not final, by number."""
        return [trial for _, trial in sorted(self.trials.items()) if not trial.is_final]

    def known(self, trials: Iterable[TrialRecord]) -> list[TrialRecord]:
        """Return the current records of these trials, adding those that were not loaded yet."""
        return [self.trials.setdefault(trial.number, trial) for trial in trials]

    def put(self, trial: TrialRecord, is_dirty: bool = True) -> TrialRecord:
        """Store a trial in these changes. A dirty trial is published with the next periodic update."""
        before = self.trials.get(trial.number)
        trial = changed(trial, dirty=trial.dirty or is_dirty)
        self.trials[trial.number] = self._touched[trial.number] = trial
        state = before.state if before else None
        if trial.state is not state:
            counts = self.experiment.counts.moved(state, trial.state)
            self.experiment = changed(self.experiment, counts=counts)
        return trial

    def announce(self, trial: TrialRecord) -> None:
        """Store a trial and publish its state at once."""
        self.put(trial)
        self._changed[trial.number] = None

    def want(self, trial: TrialRecord, desired_state: DesiredState) -> TrialRecord:
        """Change the desired state of an open request."""
        if desired_state in (DesiredState.STOP, DesiredState.CANCEL, DesiredState.KILL):
            trial = trial.moved(TrialTrigger.STOP_REQUESTED)
        self._requested[trial.number] = None
        return self.put(
            changed(trial, desired_state=desired_state, request_version=trial.request_version + 1)
        )

    def want_again(self, trial: TrialRecord) -> None:
        """Open a new request for a parked trial."""
        self.want(changed(trial.moved(TrialTrigger.WANTED), request=trial.request + 1), DesiredState.RUN)

    def create(self, proposal: Proposal, source: TrialRecord | None) -> None:
        """Create and request the proposed trial. A copy starts from the newest stored checkpoint of its source."""
        start = source.checkpoint if source else None
        trial = TrialRecord(
            id=trial_id(self.experiment.id, proposal.number),
            number=proposal.number,
            point=proposal.point,
            seed=proposal.seed,
            slots=self.config.resources.slot_range[1],
            created_at=self.now,
            decide_at=proposal.decide_at,
            source=proposal.source,
            start_checkpoint=start.id if start else None,
        )
        self.want(trial, DesiredState.RUN)
        self._changed[trial.number] = None

    # --- results

    def mark(self, trial: TrialRecord, mark: ScoredValidation) -> TrialRecord:
        """Record a trial's newest result, and update the best of trial and experiment.

        Only admissible results count; the first of equals wins.
        """
        if self.objectives.is_admissible(mark):
            if self.objectives.is_better(mark, trial.best):
                trial = changed(trial, best=mark)
            self._prefer(trial.number, mark)
        return self.put(changed(trial, latest=mark))

    def rank(self, trial: TrialRecord, marks: Iterable[ScoredValidation]) -> TrialRecord:
        """Set a trial's best to the best admissible result of these, the first of equals."""
        best: ScoredValidation | None = None
        for mark in marks:
            if self.objectives.is_admissible(mark) and self.objectives.is_better(mark, best):
                best = mark
        return self.put(changed(trial, best=best))

    def invalidate_best(self, trial: TrialRecord) -> bool:
        """Clear the experiment's best if it came from this trial; return whether it did."""
        best = self.experiment.best
        if best is None or best.trial != trial.number:
            return False
        self.experiment = changed(self.experiment, best=None)
        self.invalidated = trial
        return True

    def choose_best(self, bests: Mapping[int, ScoredValidation]) -> None:
        """Choose the experiment's best from the stored bests and the current trials. Of equals the lower number wins."""
        now = {number: trial.best for number, trial in self.trials.items()}
        found: list[tuple[int, ScoredValidation | None]] = sorted({**bests, **now}.items())
        for number, mark in found:
            if mark is not None:
                self._prefer(number, mark)

    def answer(self, trial: TrialRecord, result: Result, verdict: VerdictKind | None = None) -> None:
        """Answer a validation. Without a verdict, the trial's desired state determines it."""
        if verdict is None:
            verdict = (
                "stop"
                if trial.is_stopped
                else "pause"
                if trial.desired_state is DesiredState.PARK
                else "go_on"
            )
        decide_at = None if verdict == "stop" else trial.decide_at
        self.judged.append(ValidationVerdict(trial.number, result.run, result.number, verdict, decide_at))

    # --- end of the transaction

    def decide(self) -> Decision:
        """Return everything that has changed."""
        for number in self._changed:
            trial = self._touched[number]
            self._touched[number] = changed(trial, version=trial.version + 1, dirty=False)
        experiment = with_budget_status(self.experiment, self.search)
        experiment = changed(
            experiment,
            position=self.journal.position,
            version=experiment.version + self.is_announced,
            dirty=not self.is_announced and (experiment.dirty or self._has_progress()),
        )
        return Decision(
            experiment,
            self._touched,
            tuple(self.journal.entries),
            tuple(self._requested),
            tuple(self._changed),
            tuple(self.judged),
            self.is_announced,
            experiment.due_at != self._before.due_at,
        )

    def _prefer(self, trial: int, mark: ScoredValidation) -> None:
        if self.objectives.is_better(mark, self.experiment.best):
            best = Best(trial, mark.step, mark.value, mark.others)
            self.experiment = changed(self.experiment, best=best)

    def _has_progress(self) -> bool:
        now, before = self.experiment, self._before
        return (now.counts, now.best, now.progress) != (before.counts, before.best, before.progress)
