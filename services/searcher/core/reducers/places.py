"""What a search does with free places, carried out: trials are made, perhaps from the checkpoints of others, and trials that it has had
pause go on."""

from collections.abc import Iterable

from services.searcher.core.experiment.entities import Trial
from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.methods.port import GoOn
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.search.moves import Moves, Proposal
from shared.messages.specs import Wanted
from shared.tuples import changed


class Places:
    """A turn's part that fills places. A trial that goes on by the result of another, or is copied, is perhaps not in hand: `missing`
    names it."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._going_on: dict[int, GoOn] = {}
        self._copies: list[Proposal] = []

    @property
    def missing(self) -> list[int]:
        """Trials that go on, or are copied, and that are to be given to `go_on`."""
        return sorted({*self._going_on, *(each.source for each in self._copies if each.source is not None)})

    def fill(self, moves: Moves) -> None:
        """Make the new trials, and let those go on that are in hand."""
        for proposal in moves.created:
            source = None if proposal.source is None else self._changes.get(proposal.source)
            if proposal.source is not None and source is None:
                self._copies.append(proposal)
            else:
                self._changes.create(proposal, source)
        for step in moves.going_on:
            if (trial := self._changes.get(step.trial)) is not None:
                self._let_go_on(trial, step)
            else:
                self._going_on[step.trial] = step

    def go_on(self, trials: Iterable[Trial]) -> None:
        """Let the trials go on that were missing, and make the copies of those that were."""
        for trial in [self._changes.known(trial) for trial in trials]:
            if trial.number in self._going_on:
                self._let_go_on(trial, self._going_on.pop(trial.number))
        copies, self._copies = self._copies, []
        self.fill(Moves(created=tuple(copies)))

    def keep(self, step: GoOn) -> None:
        """Let a trial that has its place go on until another time; one that is about to pause stays."""
        trial = self._changes[step.trial]
        if trial.wanted is Wanted.RUN and trial.is_open:
            self._changes.want(changed(trial, decide_at=step.decide_at), Wanted.RUN)
        else:
            self._let_go_on(trial, step)

    def want_to_run(self, trial: Trial) -> None:
        """Undo a pause, of a trial that is parked or on its way there; not while a person has the experiment pause."""
        if self._changes.experiment.state is not ExperimentState.ACTIVE:
            return
        if trial.state is TrialState.PARKED:
            self._changes.want_again(trial)
        elif trial.is_open and trial.wanted is Wanted.PARK:
            self._changes.want(trial, Wanted.RUN)

    def _let_go_on(self, trial: Trial, step: GoOn) -> None:
        if not trial.is_final:
            going = changed(trial, is_held=False, decide_at=step.decide_at)
            self.want_to_run(self._changes.put(going, is_dirty=False))
