"""The search of one experiment, which creates trials as concurrency allows.

`Search` is the mutable state that reducers advance and that a journal can rebuild: a method that judges trials, and a
sampler that proposes their points.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from muster.config import ExperimentConfig
from services.searcher.core.budget.enforcement import SearchSpending
from services.searcher.core.budget.fitting import fit
from services.searcher.core.budget.ledger import LedgerOpening
from services.searcher.core.budget.limits import BudgetLimits, Limit
from services.searcher.core.editing import SearchEdit, check_edit
from services.searcher.core.experiment.objectives import Objectives, Scored
from services.searcher.core.methods.custom import Custom, Operation
from services.searcher.core.methods.factory import make_method, max_concurrency
from services.searcher.core.methods.interface import (
    RULES_VERSION,
    Copying,
    ResumeTrial,
    RungDecision,
    SearchStep,
    StartTrial,
    TrialEnding,
)
from services.searcher.core.samplers import Suggestion, make_sampler
from services.searcher.core.samplers.drawing import Stream
from services.searcher.core.search.actions import OperationResult, Proposal, SearchActions
from services.searcher.core.search.explicit_points import completed
from services.searcher.core.search.invalid_trials import InvalidTrials
from services.searcher.core.search.observations import Reached, observation_of, rung_results_of
from services.searcher.core.search.points import PointSource
from services.searcher.core.search.prior_observations import PriorObservations
from services.searcher.core.search.step_queue import StepQueue
from shared.errors import Conflict


class Search:
    """Which trials to run, judged by one `SearchMethod`. Trials are numbered from 1 in order of creation.

    A trial is open from its proposal until `on_ended`, except while the search has paused it. No trial is created or
    resumed while `max_concurrent_trials` are open, or the number last set by `widen`.
    """

    def __init__(self, config: ExperimentConfig, seed: int) -> None:
        self._config = config
        self._objectives = Objectives.of(config)
        self._seed = seed
        self._sampler = make_sampler(config, seed)
        self._follow(config, RULES_VERSION)
        self.spending = SearchSpending(config)
        self._limit = self._concurrent = max_concurrency(config)
        self._waiting = StepQueue(self.spending)
        self._fitted: Limit | None = None
        self._open: set[int] = set()
        self._held: set[int] = set()
        self._created = 0
        self._is_active = True
        self._judged: dict[int, Reached] = {}
        self._points = PointSource(self._sampler, config.first_points())
        self._invalid = InvalidTrials()

    @property
    def is_exhausted(self) -> bool:
        """Whether no trial is open and none will be created."""
        is_closed = self._driven is None or self._driven.is_shut_down or self.closed is not None
        return is_closed and not self._open and not self._waiting

    @property
    def is_driven(self) -> bool:
        """Whether a driver program decides and needs its events."""
        return self._driven is not None

    @property
    def created(self) -> int:
        return self._created

    @property
    def open(self) -> int:
        """Number of open trials."""
        return len(self._open)

    @property
    def limit(self) -> float:
        """How many trials may be open."""
        return self._limit

    @property
    def concurrent(self) -> float:
        """How many trials may be open by config or edit, whatever slots are idle."""
        return self._concurrent

    @property
    def learns(self) -> bool:
        """Whether `observe` must be called with the result of every trial."""
        return self._sampler.learns

    @property
    def has_paused_trials(self) -> bool:
        """Whether trials paused by the search have not resumed; once the search is exhausted, they never do."""
        return bool(self._held)

    @property
    def give_up_reason(self) -> str | None:
        """Why it creates no more trials although more are planned; None while it does."""
        return self._invalid.give_up_reason

    def add_prior_observations(self, prior: PriorObservations) -> None:
        """Add prior observations, before `start`."""
        self._points.try_first(prior.points)
        for known in prior.known:
            ranked, time = self._objectives.ranked(known.value), known.time
            reached = None if time is None else Reached(ranked, time, reached_max_time=False)
            self._sampler.learn(known.point, observation_of(self._objectives, known, reached))

    @property
    def ended_by(self) -> Limit | None:
        """The limit of the budget because of which it runs fewer trials than configured, or None."""
        return self.closed or self._fitted

    @property
    def closed(self) -> Limit | None:
        """The limit of the budget because of which it creates no more trials, or None."""
        return self._waiting.closed

    def start(
        self, limits: BudgetLimits | None = None, price: float = 0.0, rules: int = RULES_VERSION
    ) -> SearchActions:
        """Return the first trials.

        `limits` are those of its budget, `price` the current price of a slot for an hour, and `rules` the rules
        version under which the search was started.
        """
        config, self.spending.rules = self._config, rules
        if limits is not None:
            self.spending.begin(limits, price)
            fitted = fit(config, limits, price, self.spending.now_ms)
            config, self._fitted = fitted.config, fitted.limit
        if rules != RULES_VERSION or config is not self._config:
            self._follow(config, rules)
        self._add(self._method.plan_start())
        return self._filled()

    def judge(self, trial: int, value: float, time: float) -> RungDecision:
        """Judge a result. `value` is raw: its sign follows from the config, and a value that is not finite ranks worst."""
        ranked = self._objectives.ranked(value)
        decision = self._method.on_result(trial, ranked, time)
        if self.learns and decision.counted:
            self._judged[trial] = Reached(ranked, time, decision.reached_max_time)
            for rung_result in rung_results_of(decision, ranked) if self._reports_rungs else ():
                self._sampler.reach(trial, rung_result)
        if decision.counted:
            self.spending.on_decision(trial, time, decision.decide_at, decision.stop or decision.pause)
        return decision

    def observe(self, trial: int, result: Scored | None) -> None:
        """Record the result of a trial, None if it failed."""
        observation = observation_of(self._objectives, result, self._judged.pop(trial, None))
        self._sampler.observe(trial, observation)

    def restore_suggestions(self, suggestions: Mapping[int, Suggestion]) -> None:
        """Create these trials with their recorded points once they are due."""
        self._points.restore_suggestions(suggestions)

    def awaits_checkpoint(self, trial: int) -> bool:
        """Whether `on_stored` is to be called when a checkpoint of this trial is stored."""
        return self._copying is not None and self._copying.awaits(trial)

    def on_stored(self, trial: int) -> None:
        """Record that a checkpoint was stored for which `awaits_checkpoint` is true."""
        assert self._copying is not None
        self._copying.on_stored(trial)

    def on_parked(self, trial: int) -> SearchActions:
        """Record that a trial which the search paused is parked; return the actions that use the freed concurrency."""
        self._open.remove(trial)
        self._held.add(trial)
        self.spending.on_parked(trial)
        self._add(self._method.on_parked(trial))
        return self._filled()

    def on_ended(self, trial: int, ending: TrialEnding) -> SearchActions:
        """Record that a trial's request closed for good; return the actions that use the freed concurrency."""
        self._open.discard(trial)
        self._held.discard(trial)
        self.spending.on_ended(trial, ending is TrialEnding.FINISHED)
        if ending is TrialEnding.INVALID:
            self._invalid.add(trial, self._method.planned())
        self._add(self._method.on_ended(trial, ending))
        return self._filled()

    def key_of(self, trial: int) -> str | None:
        """Return the driver program's name for a trial."""
        return self._driven.key_of(trial) if self._driven else None

    def named_by(self, operations: Sequence[Operation]) -> list[int]:
        """Return the trials that must be loaded to apply these operations."""
        return self._driven.named_by(operations) if self._driven else []

    def apply_operations(self, operations: Iterable[Operation]) -> OperationResult:
        """Apply operations of a driver program.

        Raises Rejected or Conflict if they are invalid; discard the search then.
        """
        if self._driven is None:
            name = self._config.searcher.name
            raise Conflict(
                "not_driven", f"the searcher is '{name}'; only 'custom' takes operations of a program"
            )
        effects = self._driven.apply(completed(self._config, operations))
        for start in effects.withdrawn:
            self._waiting.remove(start)
        self._waiting.extend(self._method, effects.starts)
        kept = [step for step in effects.resumed if step.trial not in self._held]
        for step in effects.resumed:
            if step.trial in self._held:
                self._waiting.put(step)
        return OperationResult(self._filled(), tuple(kept), tuple(effects.stopped), tuple(effects.dropped))

    def widen(self, limit: int) -> SearchActions:
        """Set the number of trials that may be open; open ones stay. Return what can start now."""
        self._limit = limit
        self._plan_more()
        return self._filled()

    def edit(self, edit: SearchEdit, opening: LedgerOpening | None = None) -> SearchActions:
        """Apply an edit; open trials stay. Return what can start now.

        `opening` is the state to count from if the edit adds the search's first budget. Raises Rejected and changes
        nothing if the edit is invalid.
        """
        check_edit(self._config, edit, self._made)
        limits = self.spending.edited(edit, opening)
        if edit.max_trials is not None:
            self._waiting.resize(self._method, edit.max_trials)
        elif self.closed:
            self._waiting.reopen(self._method)
        if opening is not None:
            self.spending.open(opening)
        self.spending.limits = limits
        if edit.max_concurrent_trials is not None:
            self._limit = self._concurrent = edit.max_concurrent_trials
        self._plan_more()
        return self._filled()

    def pause(self) -> None:
        """Create no trials until `resume`."""
        self._is_active = False

    def resume(self) -> SearchActions:
        """Create trials again; return what can start now."""
        self._is_active = True
        return self._filled()

    def progress(self) -> float:
        return self._method.progress()

    def planned(self) -> int:
        return self._made if self.closed else self._method.planned()

    @property
    def _made(self) -> int:
        """Number of created trials that count, without invalid ones."""
        return self._created - self._invalid.count

    def _follow(self, config: ExperimentConfig, rules: int) -> None:
        self._method = make_method(config, self._sampler, self._seed, rules)
        self._reports_rungs = rules >= 2 and self._objectives.is_plain
        self._driven = self._method if isinstance(self._method, Custom) else None
        self._copying = self._method if isinstance(self._method, Copying) else None

    def _plan_more(self) -> None:
        """Request trials for all free concurrency, if concurrency is limited."""
        if math.isfinite(self._limit):
            free = int(self._limit) - len(self._open) - len(self._waiting)
            self._add(self._method.plan_more(max(0, free)))

    def _add(self, steps: Iterable[SearchStep]) -> None:
        """Queue steps; after the search has given up, no trial starts."""
        self._waiting.extend(self._method, steps)
        if self.give_up_reason is not None:
            self._waiting.forget_starts()

    def _filled(self) -> SearchActions:
        created: list[Proposal] = []
        resumed: list[ResumeTrial] = []
        was_closed = self.closed
        while self._is_active and len(self._open) < self._limit:
            step = self._waiting.take(self._method, is_idle=not self._open)
            if step is None:
                break
            if not isinstance(step, ResumeTrial):
                created.append(self._proposed(step))
            elif step.trial in self._held:
                self._held.remove(step.trial)
                self._open.add(step.trial)
                self.spending.on_resumed(step.trial, step.decide_at)
                resumed.append(step)
        return SearchActions(tuple(created), tuple(resumed), None if was_closed else self.closed)

    def _proposed(self, start: StartTrial) -> Proposal:
        self._created += 1
        number = self._created
        self._open.add(number)
        decide_at = self._method.on_created(number, start.branch)
        self.spending.on_created(number, start.branch, decide_at, start.source)
        suggestion = self._points.choose(number, start)
        if self._copying is not None:
            self._copying.on_point(number, suggestion.point)
        seed, key = Stream(self._seed, number).seed(), self.key_of(number)
        return Proposal(number, suggestion.point, seed, decide_at, suggestion.memo, start.source, key)
