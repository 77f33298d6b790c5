"""One transaction's work on one experiment: events in, one `Decision` out.

A turn holds the experiment, those of its trials that the events concern, and the search. Nothing leaves it
before `decide`; a turn whose transaction fails is thrown away together with its search.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from muster.config import ExperimentConfig
from services.searcher.core.budget.ledger import NOTHING, Holding, Opening, Prices, Used
from services.searcher.core.budget.limits import end_said, limits_of, millis
from services.searcher.core.editing import Edit
from services.searcher.core.experiment.entities import Checkpoint, Closed, Ended, Experiment, Mark, Trial
from services.searcher.core.experiment.results import Result
from services.searcher.core.experiment.states import (
    EXPERIMENT,
    ExperimentState,
    ExperimentTrigger,
    TrialState,
    TrialTrigger,
)
from services.searcher.core.journal.journal import Journal
from services.searcher.core.methods.custom import Operation
from services.searcher.core.reducers.accounts import accounted
from services.searcher.core.reducers.changes import Changes, Decision
from services.searcher.core.reducers.closing import GOING, Closing
from services.searcher.core.reducers.driving import Driving
from services.searcher.core.reducers.judging import Judging
from services.searcher.core.reducers.places import Places
from services.searcher.core.search.search import Search
from services.searcher.core.search.warm import COLD, Warmth
from services.searcher.core.search.widening import Idle, choose_limit
from shared.errors import Conflict
from shared.messages.specs import Wanted
from shared.tuples import changed

KILLED_BY_USER = "killed by a user"


class Turn:
    """Takes events in any number, then `decide` once.

    Where `missing` names trials after the events, they must be given to `go_on`; where `needs_rest` is true then, the experiment's other
    live trials must be given to `end_rest`, because the whole search ends. Commands want all live trials from the beginning; what a program
    tells, those that the search says are named by it.
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
        self._changes = Changes(experiment, trials, now, config.resources.slot_range[1])
        self._journal = Journal(search, experiment.position, millis(now))
        self._places = Places(self._changes)
        self._closing = Closing(config, self._changes, self._journal, self._places)
        self._judging = Judging(config, self._changes, self._journal, self._places, self._closing)

    @property
    def experiment(self) -> Experiment:
        """The experiment as it is by now."""
        return self._changes.experiment

    @property
    def missing(self) -> list[int]:
        """Trials that the search has go on, or copies, and that are not in hand."""
        return self._places.missing

    @property
    def needs_rest(self) -> bool:
        """Whether the whole search ends, and others than those in hand with it."""
        return self._closing.needs_rest

    def decide(self) -> Decision:
        """Return everything that the events amount to."""
        self._changes.experiment = accounted(self.experiment, self._journal.search)
        return self._changes.decide(self._journal.position, self._journal.entries)

    def begin(self, warmth: Warmth = COLD, submitted: datetime | None = None, price: float = 0.0) -> None:
        """Make the first trials of a new experiment that knows so much already.

        Its budget counts from its submission; `price`: of a slot for an hour, as things are.
        """
        self._journal.warm(warmth)
        self._changes.is_announced = True
        limits = limits_of(self.config, submitted or self._changes.now)
        moves = self._journal.start(limits, price)
        self._changes.experiment = changed(
            self.experiment,
            planned=self._journal.search.planned() or None,
            priority=self.config.resources.priority,
        )
        self._places.fill(moves)
        self._closing.end_rest(())

    def on_granted(self, number: int, run: int, holding: Holding | None = None) -> None:
        self._hold(number, run, holding)
        trial = self._changes[number]
        if trial.is_final or run <= trial.run:
            return
        trial = changed(trial, run=run)
        has_ended = trial.closed is not None or (trial.ended is not None and trial.ended.run >= run)
        self._changes.put(trial if has_ended else trial.moved(TrialTrigger.GRANTED))

    def on_validation(self, result: Result) -> None:
        """Take in a validation unless it is old; at or past `decide_at` it gets the one verdict."""
        self._judging.on_validation(result)

    def on_superseded(
        self, number: int, run: int, step: int, standing: Sequence[tuple[int, Mapping[str, float]]]
    ) -> None:
        """Take in that a run goes on from `step`: a best beyond that counts no more, and the best of `standing` takes its place."""
        self._judging.on_superseded(self._changes[number], run, step, standing)

    def on_checkpoint(self, number: int, found: Checkpoint) -> None:
        """Take in that an announced checkpoint is saved or given up, or that a saved one is no good after all."""
        trial = self._changes[number]
        if trial.is_final:
            return
        if trial.checkpoint is not None and trial.checkpoint.id == found.id:
            self._changes.put(changed(trial, checkpoint=found if found.is_good else None), is_dirty=False)
            return
        trial = self._changes.put(trial.with_checkpoint(found), is_dirty=False)
        if (
            found.is_good
            and self.experiment.state in GOING
            and self._journal.search.awaits_checkpoint(number)
        ):
            self._journal.store(number)
        self._closing.settle(trial)

    def on_delayed(self, number: int, run: int, reason: str) -> None:
        """Take in why what an ended run announced is not stored yet."""
        self._closing.delay(self._changes[number], run, reason)

    def on_resized(self, number: int, run: int, holding: Holding) -> None:
        """Take in that a run has other slots."""
        self._hold(number, run, holding)

    def on_run_ended(
        self, number: int, ended: Ended, is_requeued: bool, holding: Holding | None = None
    ) -> None:
        self._hold(number, ended.run, holding)
        trial = self._changes[number]
        if trial.is_final or (trial.ended is not None and trial.ended.run >= ended.run):
            return
        trial = changed(trial, ended=ended, run=max(trial.run, ended.run))
        if is_requeued and ended.run == trial.run and trial.closed is None:
            trial = trial.moved(TrialTrigger.REQUEUED)
        if trial.closed is not None:
            trial = changed(trial, reason=trial.missing())
        self._closing.settle(self._changes.put(trial))

    def on_closed(self, number: int, request: int, closed: Closed) -> None:
        """Take in the end of a request: parked, wanted again, or over; what takes its place is made at once."""
        trial = self._changes[number]
        if request != trial.request or not trial.is_open:
            return
        is_ending = trial.is_stopped or trial.wanted is Wanted.KILL
        if closed.outcome == "parked" and self.experiment.state in GOING and not is_ending:
            self._park(changed(trial, run=max(trial.run, closed.runs)))
        else:
            self._closing.close(trial, closed)

    def pause(self) -> None:
        """Park every trial that runs or waits. Raises Conflict where the search is over."""
        self._require(GOING, "paused")
        self._changes.move(ExperimentTrigger.PAUSE)
        self._journal.pause("paused")
        for trial in self._changes.live():
            if trial.is_open and trial.wanted is Wanted.RUN:
                self._changes.want(trial, Wanted.PARK)

    def resume(self) -> None:
        """Want every parked trial again, then make new ones. Raises Conflict where the search is over."""
        self._require(GOING, "resumed")
        self._changes.move(ExperimentTrigger.RESUME)
        for trial in self._changes.live():
            if not trial.is_held:
                self._places.want_to_run(trial)
        self._places.fill(self._journal.resume())

    def widen(self, idle: Idle) -> None:
        """Make more trials while slots stand idle, or go back to as many as the config says; see `widening`."""
        search = self._journal.search
        limit = choose_limit(self.config, search.concurrent, search.open, idle)
        if self.experiment.state is ExperimentState.ACTIVE and limit is not None and limit != search.limit:
            self._places.fill(self._journal.widen(limit))

    def cancel(self, wanted: Literal[Wanted.CANCEL, Wanted.KILL]) -> None:
        """End every trial; a kill may follow a cancel, and waits for no reports or uploads. Raises Conflict where the search is over."""
        self._require((*GOING, ExperimentState.STOPPING), "cancelled")
        if self.experiment.state is not ExperimentState.STOPPING:
            self._closing.stop(ExperimentTrigger.CANCEL, None, wanted)
        else:
            self._changes.is_announced = True
            self._closing.hurry(wanted)
        if wanted is Wanted.KILL:
            for trial in self._changes.live():
                self._closing.settle_anyway(trial)

    def kill_trial(self, number: int) -> None:
        """End one trial at once; the search goes on without it. Raises Conflict where the trial is over."""
        trial = self._changes[number]
        if trial.is_final:
            state = TrialState.ERROR if trial.state is TrialState.INVALID else trial.state
            raise Conflict(
                f"trial_is_{state}",
                f"trial {number} is {state} and cannot be killed: only a trial that is not over can be",
            )
        if trial.closed is None:
            self._changes.tell(changed(trial, reason=trial.reason or KILLED_BY_USER))
        self._closing.end(self._changes[number], Wanted.KILL)
        self._closing.settle_anyway(self._changes[number], KILLED_BY_USER)

    def finish(self) -> None:
        """End the search with the best so far: its trials save and stop. Raises Conflict where it is over."""
        self._require(GOING, "finished")
        self._closing.stop(ExperimentTrigger.COMPLETE, "finished early by a person", Wanted.STOP)

    def edit(self, edit: Edit, operation: UUID, past: Used = NOTHING, price: float = 0.0) -> None:
        """Let the search go so far from now on. Raises Conflict where it is over, Rejected where it cannot be changed so.

        `past`: what its trials that are over have used, and `price`: of a slot for an hour, where it is given its first budget.
        """
        self._require(GOING, "edited")
        opening = None
        if edit.is_of_budget and not self._journal.search.spending.is_counting:
            accounts = {trial.number: trial.account for trial in self._changes.live()}
            opening = Opening(millis(self._changes.now), price, past, accounts)
        self._places.fill(self._journal.edit(edit, opening))
        search, terms = self._journal.search, changed(self.experiment.terms, operation=operation)
        if edit.max_concurrent_trials is not None:
            terms = changed(terms, max_concurrent_trials=edit.max_concurrent_trials)
        self._changes.experiment = changed(self.experiment, planned=search.planned() or None, terms=terms)
        self._changes.is_announced = True
        self._closing.measure()
        self._closing.end_rest(self._changes.live())

    def tell(self, operations: Sequence[Operation]) -> None:
        """Carry out what the search's program says. Raises Conflict or Rejected; the turn is of no use then."""
        self._require(GOING, "told anything")
        Driving(self._changes, self._journal, self._places, self._closing).tell(operations)

    def price(self, prices: Prices) -> None:
        """Count what runs hold at these prices, by their pools, from now on."""
        if not self.experiment.is_final:
            self._journal.price(prices)

    def keep_budget(self) -> None:
        """Stop the trials at a limit of the budget, and end those that have not stopped when the last of it is used."""
        state = self.experiment.state
        if state is not ExperimentState.STOPPING and state not in GOING:
            return
        limit = self._journal.limit(state is ExperimentState.STOPPING)
        if limit is None:
            return
        if state is ExperimentState.STOPPING:
            self._closing.hurry(Wanted.KILL)
        else:
            said = end_said(limit, self._journal.search.spending.limits, is_used_up=True)
            self._closing.stop(ExperimentTrigger.COMPLETE, said, Wanted.STOP)

    def archive(self, archived: bool) -> None:
        """Raises Conflict while the search goes on."""
        self._require(tuple(EXPERIMENT.final), "archived")
        self._changes.experiment = changed(self.experiment, archived=archived)
        self._changes.is_announced = True

    def settle_anyway(self, number: int) -> None:
        """End a trial whose announced reports or checkpoints never came."""
        self._closing.settle_anyway(self._changes[number])

    @property
    def needs_bests(self) -> bool:
        """Whether the bests of all trials must be given to `choose_best`."""
        return self._closing.needs_bests

    def choose_best(self, bests: Mapping[int, Mark]) -> None:
        """Find the experiment's best anew: the one that was it turned out to be invalid."""
        self._closing.choose_best(bests)

    def go_on(self, trials: Iterable[Trial]) -> None:
        """Have the trials that `missing` named go on, and make the copies of them."""
        self._places.go_on(trials)

    def end_rest(self, trials: Iterable[Trial]) -> None:
        """End further live trials of a search that ends; those already told are left alone."""
        self._closing.end_rest(trials)

    def _require(self, states: tuple[ExperimentState, ...], done: str) -> None:
        if self.experiment.state not in states:
            state = self.experiment.state
            raise Conflict(f"experiment_is_{state}", f"an experiment that is {state} cannot be {done}")

    def _hold(self, number: int, run: int, holding: Holding | None) -> None:
        """Count what a run holds, or has held: on its trial's account, and in the journal where there is a budget."""
        trial = self._changes[number]
        if holding is not None and trial.account.is_news(run, holding):
            self._changes.put(changed(trial, account=trial.account.told(run, holding)), is_dirty=False)
        if holding is not None:
            self._journal.hold(number, run, holding)

    def _park(self, trial: Trial) -> None:
        if trial.wanted is Wanted.PARK:
            self._changes.tell(trial.moved(TrialTrigger.PARKED))
            if trial.is_held:
                self._places.fill(self._journal.park(trial.number))
        else:
            self._changes.want_again(trial)
