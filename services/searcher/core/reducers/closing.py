"""How trials and searches end, carried out: requests closed, stored reports waited for, the last one out ends the search."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.config import ExperimentConfig
from services.searcher.core.budget.limits import end_said
from services.searcher.core.experiment.entities import Closed, Experiment, Mark, Trial
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.outcomes import end_of_search, end_of_trial, ending_of, result_of
from services.searcher.core.experiment.states import (
    ExperimentState,
    ExperimentTrigger,
    TrialState,
    TrialTrigger,
)
from services.searcher.core.journal.journal import Journal
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.places import Places
from shared.messages.queue import RequestOutcome
from shared.messages.specs import Wanted
from shared.tuples import changed

GOING = (ExperimentState.ACTIVE, ExperimentState.PAUSED)


class Closing:
    """A turn's part that ends trials, and the whole search with the last of them, or before it."""

    def __init__(self, config: ExperimentConfig, changes: Changes, journal: Journal, places: Places) -> None:
        self._config = config
        self._changes = changes
        self._journal = journal
        self._places = places
        self._end_wanted: Wanted | None = None
        self._dethroned: Trial | None = None

    @property
    def needs_rest(self) -> bool:
        """Whether the experiment's other live trials must be given to `end_rest`."""
        is_ending = self._end_wanted is not None or self._leaves_behind
        return is_ending and self._experiment.counts.live > 0

    def close(self, trial: Trial, closed: Closed) -> None:
        """Take in that a trial's request is closed for good; what takes its place is made at once.

        A sampler that learns is told first what the trial came to, if all of that has arrived: so of trials made one by one each is
        proposed knowing those before it.
        """
        closed = replace(closed, reason=_reason_of(trial, closed))
        trial = changed(trial, closed=closed, reason=closed.reason, run=max(trial.run, closed.runs))
        trial = self._changes.put(trial.moved(TrialTrigger.CLOSED))
        if closed.outcome == "rejected" and self._experiment.state in GOING:
            self.stop(ExperimentTrigger.REJECT, closed.reason, Wanted.KILL)
        is_complete = trial.is_complete()
        if is_complete:
            self._observe(trial, closed)
        self._places.fill(self._journal.end(trial.number, ending_of(trial, closed.outcome)))
        self.measure()
        trial = self._changes[trial.number]
        if is_complete:
            self._finalise(trial, closed)
        else:
            self._changes.tell(changed(trial, reason=trial.missing()))

    def end(self, trial: Trial, wanted: Wanted) -> None:
        """End a trial this way. One that has no run ends now: nothing is left for the scheduler to confirm.

        The scheduler may have granted a run of which the searcher has not been notified yet; what is wanted of a queued trial is sent with
        its end and reaches that run: a cancelled one still saves, a killed one does not. A trial whose request is closed already waits for what its last run announced, and is left alone.
        """
        if trial.is_final or trial.closed is not None:
            return
        if not trial.is_idle:
            self._ask(trial, wanted)
            return
        if trial.state is TrialState.QUEUED:
            never_ran = wanted is Wanted.STOP and not trial.run
            trial = self._changes.want(trial, Wanted.CANCEL if never_ran else wanted)
        self.close(trial, Closed(_outcome_without_run(trial, wanted), trial.run, None, self._changes.now))

    def settle(self, trial: Trial) -> None:
        """End a closed trial once all that it announced has arrived."""
        if trial.closed is not None and not trial.is_final and trial.is_complete():
            self._end(changed(trial, reason=trial.closed.reason), trial.closed)

    def settle_anyway(
        self, trial: Trial, why: str = "not everything that its last run announced was stored"
    ) -> None:
        """End a closed trial without what has not arrived; `why` is its reason where it has none."""
        if trial.closed is not None and not trial.is_final:
            reason = trial.closed.reason or why
            self._end(changed(trial, reason=reason), trial.closed)

    def delay(self, trial: Trial, run: int, reason: str) -> None:
        """Keep why a closed trial's last checkpoints are not stored yet."""
        if trial.state is TrialState.FINISHING and run == max(
            trial.run, trial.closed.runs if trial.closed else 0
        ):
            self._changes.put(changed(trial, reason=reason))

    def _end(self, trial: Trial, closed: Closed) -> None:
        self._observe(trial, closed)
        self._finalise(trial, closed)

    def stop(self, outcome: ExperimentTrigger, reason: str | None, wanted: Wanted) -> None:
        """Begin the end of the whole search."""
        self._changes.move(ExperimentTrigger.STOP)
        self._changes.experiment = changed(self._experiment, outcome=outcome, reason=reason)
        self._journal.pause("stopping")
        self.hurry(wanted)

    def hurry(self, wanted: Wanted) -> None:
        """End every trial of a search that is stopping this way."""
        self._end_wanted = wanted
        self.end_rest(self._changes.live())

    def end_rest(self, trials: Iterable[Trial]) -> None:
        """End further live trials of a search that ends; those already told are left alone."""
        wanted = self._end_wanted
        for trial in [self._changes.known(trial) for trial in trials]:
            if trial.is_held and self._leaves_behind and not trial.is_final:
                self._leave_behind(trial)
            if wanted is not None:
                self.end(trial, wanted)
        self._finish_if_over(None)

    @property
    def needs_bests(self) -> bool:
        """Whether the best result counts no more, so that the bests of all trials must be given to `choose_best`."""
        return self._dethroned is not None

    def choose_best(self, bests: Mapping[int, Mark]) -> None:
        """Find the best trial anew, then end the search if it is over."""
        self._changes.choose_best(Objectives.of(self._config), bests)
        last, self._dethroned = self._dethroned, None
        self._finish_if_over(last)

    def dethrone(self, trial: Trial) -> bool:
        """Forget the best result where it was this trial's, which has another or none by now; return whether it was."""
        if not self._changes.is_best(trial):
            return False
        self._changes.forget_best()
        self._dethroned = trial
        return True

    def measure(self) -> None:
        """Keep how far the search is, and how many trials it comes to; what an invalid trial had reached is not taken back."""
        search = self._journal.search
        progress = max(self._experiment.progress, search.progress())
        self._changes.experiment = changed(self._experiment, progress=progress, planned=search.planned())

    @property
    def _experiment(self) -> Experiment:
        return self._changes.experiment

    @property
    def _leaves_behind(self) -> bool:
        """Whether only trials are left that the search has had pause, and that never go on."""
        search = self._journal.search
        return search.is_exhausted and search.is_holding and self._experiment.state in GOING

    def _ask(self, trial: Trial, wanted: Wanted) -> None:
        """Have a run end that way; what was killed stays killed."""
        if trial.wanted not in (wanted, Wanted.KILL):
            self._changes.want(trial, wanted)

    def _leave_behind(self, trial: Trial) -> None:
        """A trial that was not among the best of its rung and never will be ends there."""
        trial = self._changes.put(changed(trial, is_stopped=True))
        if trial.state is TrialState.PARKED:
            self.end(trial, Wanted.STOP)

    def _observe(self, trial: Trial, closed: Closed) -> None:
        """Tell those who want to know what a trial comes to that ends now."""
        search = self._journal.search
        if search.learns or search.is_driven:
            final = trial.moved(end_of_trial(trial, closed))
            self._journal.observe(final.number, result_of(final), final.state.value, final.reason)

    def _finalise(self, trial: Trial, closed: Closed) -> None:
        trial = changed(trial.moved(end_of_trial(trial, closed)), ended_at=self._changes.now)
        if trial.state is TrialState.INVALID:
            trial = changed(trial, best=None)
        self._changes.tell(trial)
        if trial.state is not TrialState.INVALID or not self.dethrone(trial):
            self._finish_if_over(trial)

    def _end_of_budget(self) -> str | None:
        search = self._journal.search
        if search.ended_by is None:
            return None
        return end_said(search.ended_by, search.spending.limits, is_used_up=False)

    def _finish_if_over(self, last: Trial | None) -> None:
        experiment = self._experiment
        if experiment.is_final or experiment.counts.live:
            return
        trigger, reason = experiment.outcome, experiment.reason
        if trigger is None:
            if not self._journal.search.is_exhausted:
                return
            end = end_of_search(self._config, experiment, last, self._journal.search.gave_up)
            trigger, reason = end.trigger, end.reason or reason or self._end_of_budget()
        if trigger is ExperimentTrigger.COMPLETE and experiment.best is None and experiment.outcome:
            trigger, reason = ExperimentTrigger.CANCEL, f"{reason}; no trial had reported by then"
        self._changes.move(trigger)
        progress = 1.0 if trigger is ExperimentTrigger.COMPLETE else experiment.progress
        self._changes.experiment = changed(
            self._experiment, reason=reason, progress=progress, ended_at=self._changes.now
        )
        self._journal.finish(self._experiment.state.value, reason)


def _outcome_without_run(trial: Trial, wanted: Wanted) -> RequestOutcome:
    """Return how a trial without a run ends; one that never ran and is to stop is cancelled, unless the search had it pause."""
    is_stopped = wanted is Wanted.STOP and (trial.run > 0 or trial.state is TrialState.PARKED)
    return "stopped" if is_stopped else "cancelled"


def _reason_of(trial: Trial, closed: Closed) -> str | None:
    """Return why a trial ended: where it was killed by a user, that, whatever its processes exited with."""
    is_killed = trial.reason is not None and end_of_trial(trial, closed) is TrialTrigger.CANCELLED
    return trial.reason if is_killed else closed.reason
