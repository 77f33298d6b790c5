"""What one turn changes: experiment, trials and wishes in hand, kept consistent with their counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from services.searcher.core.experiment.entities import Best, Experiment, Mark, Trial, trial_id
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.results import Result
from services.searcher.core.experiment.states import ExperimentTrigger, TrialTrigger
from services.searcher.core.journal.journal import Entry
from services.searcher.core.search.moves import Proposal
from shared.messages.specs import Wanted
from shared.tuples import changed

VerdictWord = Literal["go_on", "stop", "pause"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer to a validation, for the worker that waits for it."""

    trial: int
    run: int
    validation: int
    verdict: VerdictWord
    decide_at: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a turn changes and tells.

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
    judged: tuple[Judged, ...]
    is_announced: bool
    is_rescheduled: bool = False

    @property
    def is_change(self) -> bool:
        """Whether there is anything to save."""
        return bool(self.trials or self.entries or self.is_announced or self.is_rescheduled)


class Changes:
    """The entities that a turn has in hand, as they are by now."""

    def __init__(
        self, experiment: Experiment, trials: Iterable[Trial], now: datetime, slots: int = 1
    ) -> None:
        self.experiment = experiment
        self._slots = slots
        self.now = now
        self.judged: list[Judged] = []
        self.is_announced = False
        self._before = experiment
        self._known = {trial.number: trial for trial in trials}
        self._touched: dict[int, Trial] = {}
        self._wanted: dict[int, None] = {}
        self._changed: dict[int, None] = {}

    def __getitem__(self, number: int) -> Trial:
        return self._known[number]

    def get(self, number: int) -> Trial | None:
        """Return a trial that is in hand."""
        return self._known.get(number)

    def live(self) -> list[Trial]:
        """Return the known trials that are not final, by number."""
        return [trial for _, trial in sorted(self._known.items()) if not trial.is_final]

    def known(self, trial: Trial) -> Trial:
        """Return the trial as it is by now, taking it in if it is not known yet."""
        return self._known.setdefault(trial.number, trial)

    def move(self, trigger: ExperimentTrigger) -> None:
        """Advance the experiment and have it announced."""
        self.experiment = self.experiment.moved(trigger)
        self.is_announced = True

    def put(self, trial: Trial, is_dirty: bool = True) -> Trial:
        """Keep a trial; told with the next round where it is dirty."""
        before = self._known.get(trial.number)
        trial = changed(trial, dirty=trial.dirty or is_dirty)
        self._known[trial.number] = self._touched[trial.number] = trial
        state = before.state if before else None
        if trial.state is not state:
            counts = self.experiment.counts.moved(state, trial.state)
            self.experiment = changed(self.experiment, counts=counts)
        return trial

    def mark(self, objectives: Objectives, trial: Trial, mark: Mark) -> Trial:
        """Keep a trial's newest result; the best of trial and experiment are admissible, and the first of equals."""
        if objectives.is_admissible(mark):
            if objectives.is_better(mark, trial.best):
                trial = changed(trial, best=mark)
            if objectives.is_better(mark, self.experiment.best):
                best = Best(trial.number, mark.step, mark.value, mark.others)
                self.experiment = changed(self.experiment, best=best)
        return self.put(changed(trial, latest=mark))

    def rank(self, objectives: Objectives, trial: Trial, marks: Iterable[Mark]) -> Trial:
        """Keep as a trial's best the best of these, the first of equals, if any is admissible."""
        best: Mark | None = None
        for mark in marks:
            if objectives.is_admissible(mark) and objectives.is_better(mark, best):
                best = mark
        return self.put(changed(trial, best=best))

    def is_best(self, trial: Trial) -> bool:
        """Whether the experiment's best result is of this trial."""
        return self.experiment.best is not None and self.experiment.best.trial == trial.number

    def forget_best(self) -> None:
        """The best result counts no more."""
        self.experiment = changed(self.experiment, best=None)

    def choose_best(self, objectives: Objectives, bests: Mapping[int, Mark]) -> None:
        """Take the best of the trials' bests as they were before this turn, and as they are by now; of equals the lower number's."""
        now = {number: trial.best for number, trial in self._known.items()}
        found: list[tuple[int, Mark | None]] = sorted({**bests, **now}.items())
        for number, mark in found:
            if mark is not None and objectives.is_better(mark, self.experiment.best):
                best = Best(number, mark.step, mark.value, mark.others)
                self.experiment = changed(self.experiment, best=best)

    def answer(self, trial: Trial, result: Result, verdict: VerdictWord | None = None) -> None:
        """Answer a validation; without a word it is what is wanted of the trial now."""
        if verdict is None:
            verdict = "stop" if trial.is_stopped else "pause" if trial.wanted is Wanted.PARK else "go_on"
        decide_at = None if verdict == "stop" else trial.decide_at
        self.judged.append(Judged(trial.number, result.run, result.number, verdict, decide_at))

    def tell(self, trial: Trial) -> None:
        """Keep a trial and have its state told at once."""
        self.put(trial)
        self._changed[trial.number] = None

    def want(self, trial: Trial, wanted: Wanted) -> Trial:
        """Change what is wanted of an open request."""
        if wanted in (Wanted.STOP, Wanted.CANCEL, Wanted.KILL):
            trial = trial.moved(TrialTrigger.TOLD)
        self._wanted[trial.number] = None
        return self.put(changed(trial, wanted=wanted, wish=trial.wish + 1))

    def want_again(self, trial: Trial) -> None:
        """Open a new request for a trial that was parked."""
        self.want(changed(trial.moved(TrialTrigger.WANTED), request=trial.request + 1), Wanted.RUN)

    def create(self, proposal: Proposal, source: Trial | None) -> None:
        """Make the proposed trial and want it; one that copies another starts from that one's newest stored checkpoint."""
        start = source.checkpoint if source else None
        trial = Trial(
            id=trial_id(self.experiment.id, proposal.number),
            number=proposal.number,
            point=proposal.point,
            seed=proposal.seed,
            slots=self._slots,
            created_at=self.now,
            decide_at=proposal.decide_at,
            source=proposal.source,
            start_checkpoint=start.id if start else None,
        )
        self.want(trial, Wanted.RUN)
        self._changed[trial.number] = None

    def decide(self, position: int, entries: Iterable[Entry]) -> Decision:
        """Return everything that has changed; `position` is the journal's new length."""
        for number in self._changed:
            trial = self._touched[number]
            self._touched[number] = changed(trial, version=trial.version + 1, dirty=False)
        experiment = changed(
            self.experiment,
            position=position,
            version=self.experiment.version + self.is_announced,
            dirty=not self.is_announced and (self.experiment.dirty or self._has_news()),
        )
        return Decision(
            experiment,
            self._touched,
            tuple(entries),
            tuple(self._wanted),
            tuple(self._changed),
            tuple(self.judged),
            self.is_announced,
            experiment.due_at != self._before.due_at,
        )

    def _has_news(self) -> bool:
        now, before = self.experiment, self._before
        return (now.counts, now.best, now.progress) != (before.counts, before.best, before.progress)
