"""What one transaction has of an experiment, and what it changes of it. Reducers fill it; `decide` returns what is saved and emitted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from muster.config import ExperimentConfig
from services.searcher.core.budget.limits import millis
from services.searcher.core.experiment.entities import Best, Experiment, ScoredValidation, Trial, trial_id
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import Result
from services.searcher.core.experiment.states import ONGOING, DesiredState, ExperimentTrigger, TrialTrigger
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.journal import SearchJournal
from services.searcher.core.methods.port import ResumeTrial
from services.searcher.core.reducers.budget_status import with_budget_status
from services.searcher.core.search.actions import Proposal
from services.searcher.core.search.search import Search
from shared.tuples import changed

VerdictKind = Literal["go_on", "stop", "pause"]


@dataclass(frozen=True, slots=True)
class ValidationVerdict:
    """The answer to a validation, for the worker that waits for it."""

    trial: int
    run: int
    validation: int
    verdict: VerdictKind
    decide_at: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a transaction saves and emits.

    Attributes:
        trials: Every trial that is new or differs, by number.
        wanted: Numbers of those whose wish is new (`trial.wanted`), in the order of deciding.
        changed: Numbers of those whose state is told at once (`trial.changed`).
        is_announced: Whether the experiment's state is told at once (`experiment.changed`).
        is_rescheduled: Whether its budget is to be looked at at another time.
    """

    experiment: Experiment
    trials: dict[int, Trial]
    entries: tuple[Entry, ...]
    wanted: tuple[int, ...]
    changed: tuple[int, ...]
    judged: tuple[ValidationVerdict, ...]
    is_announced: bool
    is_rescheduled: bool = False

    @property
    def is_change(self) -> bool:
        """Whether there is anything to save."""
        return bool(self.trials or self.entries or self.is_announced or self.is_rescheduled)


class Changes:
    """An experiment, those of its trials that the events concern, and its search, as they are by now.

    A transaction makes one, applies reducers to it in any number, loads what it asks for then, and calls `decide` once. Events of a trial
    need that trial; commands need all live trials; what a program tells, those that `Search.named_by` returns. It asks for more:

    - `missing`: trials for `go_on`;
    - `needs_bests`: the best results of all trials for `choose_best`;
    - `needs_rest`: the other live trials for `end_rest`.

    Nothing leaves it before `decide`. Where the transaction fails, it is thrown away together with the search.

    Attributes:
        experiment: Its record; `put` keeps its counts in step with the trials.
        trials: The records in hand, by number.
        search: The mutable index that reducers advance; `journal` writes down each step of it.
        judged: Answers to validations, in the order of judging.
        is_announced: Whether the experiment's state is told at once.
        going_on, copies: Steps of the search that wait for trials which are not in hand.
        ending: How every trial is to end, because the whole search ends.
        invalidated: The trial whose result was the experiment's best and counts no more.
    """

    def __init__(
        self,
        config: ExperimentConfig,
        experiment: Experiment,
        trials: Iterable[Trial],
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
        self.going_on: dict[int, ResumeTrial] = {}
        self.copies: list[Proposal] = []
        self.ending: DesiredState | None = None
        self.invalidated: Trial | None = None
        self._before = experiment
        self._touched: dict[int, Trial] = {}
        self._wanted: dict[int, None] = {}
        self._changed: dict[int, None] = {}
        if search.spending.is_counting:
            search.spending.tell_time(millis(now))

    # --- what must be loaded

    @property
    def missing(self) -> list[int]:
        """Trials that go on, or are copied, and are not in hand: for `go_on`."""
        return sorted({*self.going_on, *(each.source for each in self.copies if each.source is not None)})

    @property
    def needs_bests(self) -> bool:
        """Whether the best result counts no more, so that the bests of all trials must be given to `choose_best`."""
        return self.invalidated is not None

    @property
    def needs_rest(self) -> bool:
        """Whether the whole search ends, so that the experiment's other live trials must be given to `end_rest`."""
        return (self.ending is not None or self.leaves_behind) and self.experiment.counts.live > 0

    # --- the experiment

    @property
    def is_going(self) -> bool:
        """Whether the search goes on: it is active or paused."""
        return self.experiment.state in ONGOING

    @property
    def leaves_behind(self) -> bool:
        """Whether only trials are left that the search has had pause, and that never go on."""
        return self.search.is_exhausted and self.search.is_holding and self.is_going

    def move(self, trigger: ExperimentTrigger) -> None:
        """Advance the experiment's state and have it announced."""
        self.experiment = self.experiment.moved(trigger)
        self.is_announced = True

    def measure(self) -> None:
        """Keep how far the search is, and how many trials it comes to; what an invalid trial had reached is not taken back."""
        progress = max(self.experiment.progress, self.search.progress())
        self.experiment = changed(self.experiment, progress=progress, planned=self.search.planned())

    # --- trials

    def live(self) -> list[Trial]:
        """Return the trials in hand that are not final, by number."""
        return [trial for _, trial in sorted(self.trials.items()) if not trial.is_final]

    def known(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the trials as they are by now, taking in those that are not in hand yet."""
        return [self.trials.setdefault(trial.number, trial) for trial in trials]

    def put(self, trial: Trial, is_dirty: bool = True) -> Trial:
        """Keep a trial; told with the next round where it is dirty."""
        before = self.trials.get(trial.number)
        trial = changed(trial, dirty=trial.dirty or is_dirty)
        self.trials[trial.number] = self._touched[trial.number] = trial
        state = before.state if before else None
        if trial.state is not state:
            counts = self.experiment.counts.moved(state, trial.state)
            self.experiment = changed(self.experiment, counts=counts)
        return trial

    def announce(self, trial: Trial) -> None:
        """Keep a trial and have its state told at once."""
        self.put(trial)
        self._changed[trial.number] = None

    def want(self, trial: Trial, wanted: DesiredState) -> Trial:
        """Change what is wanted of an open request."""
        if wanted in (DesiredState.STOP, DesiredState.CANCEL, DesiredState.KILL):
            trial = trial.moved(TrialTrigger.TOLD)
        self._wanted[trial.number] = None
        return self.put(changed(trial, wanted=wanted, wish=trial.wish + 1))

    def want_again(self, trial: Trial) -> None:
        """Open a new request for a trial that was parked."""
        self.want(changed(trial.moved(TrialTrigger.WANTED), request=trial.request + 1), DesiredState.RUN)

    def create(self, proposal: Proposal, source: Trial | None) -> None:
        """Make the proposed trial and want it; one that copies another starts from that one's newest stored checkpoint."""
        start = source.checkpoint if source else None
        trial = Trial(
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

    def mark(self, trial: Trial, mark: ScoredValidation) -> Trial:
        """Keep a trial's newest result; the best of trial and experiment are admissible, and the first of equals."""
        if self.objectives.is_admissible(mark):
            if self.objectives.is_better(mark, trial.best):
                trial = changed(trial, best=mark)
            self._prefer(trial.number, mark)
        return self.put(changed(trial, latest=mark))

    def rank(self, trial: Trial, marks: Iterable[ScoredValidation]) -> Trial:
        """Keep as a trial's best the best of these, the first of equals, if any is admissible."""
        best: ScoredValidation | None = None
        for mark in marks:
            if self.objectives.is_admissible(mark) and self.objectives.is_better(mark, best):
                best = mark
        return self.put(changed(trial, best=best))

    def invalidate_best(self, trial: Trial) -> bool:
        """Forget the best result where it was this trial's, which has another or none by now; return whether it was."""
        best = self.experiment.best
        if best is None or best.trial != trial.number:
            return False
        self.experiment = changed(self.experiment, best=None)
        self.invalidated = trial
        return True

    def choose_best(self, bests: Mapping[int, ScoredValidation]) -> None:
        """Take the best of the trials' bests as they were before this, and as they are by now; of equals the lower number's."""
        now = {number: trial.best for number, trial in self.trials.items()}
        found: list[tuple[int, ScoredValidation | None]] = sorted({**bests, **now}.items())
        for number, mark in found:
            if mark is not None:
                self._prefer(number, mark)

    def answer(self, trial: Trial, result: Result, verdict: VerdictKind | None = None) -> None:
        """Answer a validation; without a word it is what is wanted of the trial now."""
        if verdict is None:
            verdict = (
                "stop" if trial.is_stopped else "pause" if trial.wanted is DesiredState.PARK else "go_on"
            )
        decide_at = None if verdict == "stop" else trial.decide_at
        self.judged.append(ValidationVerdict(trial.number, result.run, result.number, verdict, decide_at))

    # --- the end of the transaction

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
            dirty=not self.is_announced and (experiment.dirty or self._has_news()),
        )
        return Decision(
            experiment,
            self._touched,
            tuple(self.journal.entries),
            tuple(self._wanted),
            tuple(self._changed),
            tuple(self.judged),
            self.is_announced,
            experiment.due_at != self._before.due_at,
        )

    def _prefer(self, trial: int, mark: ScoredValidation) -> None:
        if self.objectives.is_better(mark, self.experiment.best):
            best = Best(trial, mark.step, mark.value, mark.others)
            self.experiment = changed(self.experiment, best=best)

    def _has_news(self) -> bool:
        now, before = self.experiment, self._before
        return (now.counts, now.best, now.progress) != (before.counts, before.best, before.progress)
