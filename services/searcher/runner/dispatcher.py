"""The four moves of every handler: load and lock, decide, save, emit; told once for all events."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog

from muster.config import ExperimentConfig
from services.searcher import events
from services.searcher.core.experiment.entities import Experiment, Trial, trial_id
from services.searcher.core.reducers.changes import Decision, Judged
from services.searcher.core.reducers.turn import Turn
from services.searcher.metrics import DECISION_DURATION, count_decision
from services.searcher.runner.searches import Loaded, Searches
from services.searcher.store import entities
from services.searcher.store.front import load_bests
from shared import faults
from shared.bus import Bus, Delivery, Unit
from shared.errors import Broken
from shared.ids import PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.base import Event, Hint
from shared.messages.experiments import Verdict
from shared.messages.pools import PoolCapacity
from shared.messages.reports import ValidationStored

BEFORE_VERDICT = faults.register("searcher.before_verdict")
_log = structlog.get_logger()


E = TypeVar("E", bound=Event)
Apply = Callable[[Turn, int, E], None]


@dataclass(frozen=True, slots=True)
class Done:
    """One experiment's decision, with the messages that led to it."""

    loaded: Loaded
    decision: Decision
    causes: Sequence[Delivery[Any]]


@dataclass(frozen=True, slots=True)
class Desk:
    """Turns events into decisions, and these into rows and messages. `news` is set when there may be progress to tell, `capacity` when
    a pool was told of, `budgets` when one is due at another time, or slots may have another price; `prices`: of a slot for an hour, as they were read last."""

    searches: Searches
    bus: Bus
    news: asyncio.Event = field(default_factory=asyncio.Event)
    capacity: asyncio.Event = field(default_factory=asyncio.Event)
    budgets: asyncio.Event = field(default_factory=asyncio.Event)
    prices: dict[PoolName, float] = field(default_factory=dict)

    def price_of(self, config: ExperimentConfig) -> float:
        """What a slot of the search's pool costs for an hour, 0 where nobody has said."""
        return self.prices.get(PoolName(config.resources.resource_pool or "default"), 0.0)

    async def on_trials(self, unit: Unit, batch: list[Delivery[E]], apply: Apply[E]) -> None:
        """Tell each event to its experiment's turn, in order; experiments are locked in the order of their ids."""
        by_trial: dict[TrialId, list[Delivery[E]]] = {}
        for delivery in batch:
            by_trial.setdefault(_trial(delivery.message), []).append(delivery)
        done: list[Done] = []
        for locked in await entities.lock_by_trials(unit.connection, by_trial):
            numbers = {trial.id: trial.number for trial in locked.trials}
            causes = [d for d in batch if _trial(d.message) in numbers]
            loaded, turn = await self.begin(unit, locked.experiment, locked.trials)
            messages = [(numbers[_trial(d.message)], d.message) for d in causes]
            await advance(loaded, partial(_tell_all, turn, apply, messages))
            done.append(Done(loaded, await self.decide(unit, turn), causes))
            for trial in numbers:
                del by_trial[trial]
        for trial_id_ in by_trial:
            _log.warning("an event of an unknown trial was ignored", trial=str(trial_id_))
        await self.finish(unit, done)

    async def begin(self, unit: Unit, experiment: Experiment, trials: Iterable[Trial]) -> tuple[Loaded, Turn]:
        """Begin a turn of a locked experiment."""
        loaded = await self.searches.borrow(unit, experiment)
        return loaded, Turn(loaded.config, experiment, trials, loaded.search, unit.now)

    async def decide(self, unit: Unit, turn: Turn) -> Decision:
        """End a turn; trials that go on though nothing was heard of them are told, and where the whole search ends, all others."""
        if turn.missing:
            turn.go_on(await entities.lock_trials(unit.connection, turn.experiment.id, turn.missing))
        if turn.needs_bests:
            turn.choose_best(await load_bests(unit.connection, turn.experiment.id))
        if turn.needs_rest:
            turn.end_rest(await entities.lock_live_trials(unit.connection, turn.experiment.id))
        return turn.decide()

    async def finish(self, unit: Unit, done: Sequence[Done]) -> None:
        """Save all decisions in one statement, then emit; verdicts go out after the commit."""
        done = [each for each in done if each.decision.is_change]
        if not done or unit.tenant is None:
            return
        await entities.save(unit.connection, unit.tenant, [each.decision for each in done], unit.now)
        for each in done:
            each.loaded.position = each.decision.experiment.position
            await self.searches.save(unit, each.loaded)
            self._emit(unit, each)
            self._answer(unit, each)
            unit.then(partial(count_decision, each.loaded.config.searcher.name, each.decision))
            if each.decision.experiment.due_at is not None:
                unit.then(self._see_budgets)
            if each.loaded.search.is_driven and each.decision.entries:
                unit.then(partial(self._hint, unit.tenant, each.decision.experiment))
        unit.then(self._wake)

    async def see_capacity(self, told: Sequence[PoolCapacity]) -> None:
        self.capacity.set()
        if any(self.prices.get(pool.pool) != pool.price_per_slot_hour for pool in told):
            self.budgets.set()

    async def _see_budgets(self) -> None:
        self.budgets.set()

    async def _wake(self) -> None:
        self.news.set()

    async def _hint(self, tenant: TenantId, experiment: Experiment) -> None:
        """Wakes whoever waits for the search's events."""
        await self.bus.hint(Hint(entity="search", id=experiment.id, cursor=experiment.position), tenant)

    def _emit(self, unit: Unit, done: Done) -> None:
        decision, loaded = done.decision, done.loaded
        causes = _causes(done)
        first = done.causes[0] if done.causes else None
        for number in decision.wanted:
            trial = decision.trials[number]
            unit.emit(events.trial_wanted(loaded, trial), cause=causes.get(trial.id, first))
        for number in decision.changed:
            trial = decision.trials[number]
            message = events.trial_changed(trial, decision.experiment.id)
            unit.emit(message, cause=causes.get(trial.id, first))
        if decision.is_announced:
            unit.emit(events.experiment_changed(decision.experiment), cause=first)

    def _answer(self, unit: Unit, done: Done) -> None:
        asked = {
            (d.message.trial_id, d.message.run_number, d.message.number): d.message
            for d in done.causes
            if isinstance(d.message, ValidationStored)
        }
        for judged in done.decision.judged:
            trial = trial_id(done.decision.experiment.id, judged.trial)
            message = asked[trial, judged.run, judged.validation]
            unit.then(partial(self._tell, message.worker, _verdict(message.run_id, judged)))

    async def _tell(self, worker: WorkerId, verdict: Verdict) -> None:
        faults.point(BEFORE_VERDICT)
        await self.bus.tell(verdict, worker)


async def advance(loaded: Loaded, step: Callable[[], object]) -> None:
    """Run a step of a search; one with a model runs in a thread, because fitting may take seconds."""
    with DECISION_DURATION.labels(loaded.config.searcher.name).time():
        await asyncio.to_thread(step) if loaded.search.learns else step()


def _tell_all(turn: Turn, apply: Apply[E], messages: Iterable[tuple[int, E]]) -> None:
    for number, message in messages:
        apply(turn, number, message)


def _verdict(run: RunId, judged: Judged) -> Verdict:
    return Verdict(
        run_id=run,
        validation=judged.validation,
        verdict=judged.verdict,
        next_decide_at=judged.decide_at,
    )


def _trial(message: Event) -> TrialId:
    found = getattr(message, "trial_id", None)
    if found is None:
        raise Broken(f"a {message.TYPE} names no trial")
    return TrialId(found)


def _causes(done: Done) -> dict[TrialId, Delivery[Any]]:
    """The newest message about each trial that has one."""
    found: dict[TrialId, Delivery[Any]] = {}
    for delivery in done.causes:
        trial = getattr(delivery.message, "trial_id", None)
        if trial is not None:
            found[TrialId(trial)] = delivery
    return found
