"""Apply events and commands to experiments: load and lock, decide, save, emit."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog

from muster.config import ExperimentConfig
from services.searcher.core.experiment.entities import ExperimentRecord, trial_id
from services.searcher.core.reducers.changes import Changes, Decision, ValidationVerdict
from services.searcher.core.reducers.ending import choose_best, end_rest
from services.searcher.core.reducers.starting import resume_loaded
from services.searcher.events import container_of, experiment_changed, trial_changed, trial_requested
from services.searcher.metrics import DECISION_DURATION, count_decision
from services.searcher.runner.searches import LoadedSearch, SearchCache
from services.searcher.store import entities
from services.searcher.store.entities import Locked
from services.searcher.store.pareto import load_bests
from shared.bus import Bus, Delivery, Unit
from shared.container_rules import ContainerSettings, check_container
from shared.errors import Broken
from shared.ids import PoolName, RunId, TenantId, TrialId, WorkerId
from shared.messages.base import Event, Hint
from shared.messages.experiments import TrialVerdict
from shared.messages.pools import PoolCapacity
from shared.messages.reports import ValidationStored
from shared.runtime import faults

BEFORE_VERDICT = faults.register("searcher.before_verdict")
_log = structlog.get_logger()

M = TypeVar("M", bound=Event)
E = TypeVar("E")
Reducer = Callable[[Changes, E], object]
"""Apply one event or command to an experiment."""


@dataclass(frozen=True, slots=True)
class AppliedDecision:
    """One experiment's decision, with the messages that caused it."""

    loaded: LoadedSearch
    decision: Decision
    causes: Sequence[Delivery[Any]] = ()


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Turns events into decisions, and decisions into rows and messages.

    Attributes:
        publish_requested: Set when there may be progress to publish.
        capacity: Set when a pool's capacity was reported.
        budgets: Set when a budget check is due at another time or a price may have changed.
        prices: Hourly price of a slot by pool, as last read.
        containers: The limits of the site for containers.
    """

    searches: SearchCache
    bus: Bus
    publish_requested: asyncio.Event = field(default_factory=asyncio.Event)
    capacity: asyncio.Event = field(default_factory=asyncio.Event)
    budgets: asyncio.Event = field(default_factory=asyncio.Event)
    prices: dict[PoolName, float] = field(default_factory=dict)
    containers: ContainerSettings = field(default_factory=ContainerSettings)

    def check_container(self, config: ExperimentConfig) -> None:
        """Refuse a config whose container the site does not allow. Raises Rejected."""
        if (container := container_of(config)) is not None:
            check_container(container, self.containers)

    def price_of(self, config: ExperimentConfig) -> float:
        """Return the hourly price of a slot in the search's pool, 0 if it has no price."""
        return self.prices.get(PoolName(config.resources.resource_pool or "default"), 0.0)

    async def decide(
        self, unit: Unit, batch: list[Delivery[M]], event_of: Callable[[int, M], E], reducer: Reducer[E]
    ) -> None:
        """Apply messages about trials in order; experiments are locked in the order of their ids.

        `event_of` converts a trial's number and a message to the reducer's event.
        """
        unknown = dict.fromkeys(_trial(delivery.message) for delivery in batch)
        done: list[AppliedDecision] = []
        for locked in await entities.lock_by_trials(unit.connection, unknown):
            numbers = {trial.id: trial.number for trial in locked.trials}
            causes = [d for d in batch if _trial(d.message) in numbers]
            messages = [(numbers[_trial(d.message)], d.message) for d in causes]
            events = [event_of(number, message) for number, message in messages]
            done.append(await self.reduce(unit, locked, reducer, events, causes))
            for trial in numbers:
                del unknown[trial]
        for trial_id_ in unknown:
            _log.warning("an event of an unknown trial was ignored", trial=str(trial_id_))
        await self.finish(unit, done)

    async def decide_one(self, unit: Unit, locked: Locked, reducer: Reducer[E], event: E) -> Decision:
        """Apply an event without a message to one experiment."""
        done = await self.reduce(unit, locked, reducer, [event])
        await self.finish(unit, [done])
        return done.decision

    async def reduce(
        self,
        unit: Unit,
        locked: Locked,
        reducer: Reducer[E],
        events: Sequence[E],
        causes: Sequence[Delivery[Any]] = (),
    ) -> AppliedDecision:
        """Apply events to a locked experiment, then load the further trials that they concern.

        Those are trials to resume, and if the whole search ends, all other live trials. A search with a model decides
        in a thread, because fitting may take seconds.
        """
        loaded = await self.searches.check_out(unit, locked.experiment)
        changes = Changes(loaded.config, locked.experiment, locked.trials, loaded.search, unit.now)
        with DECISION_DURATION.labels(loaded.config.searcher.name).time():
            if loaded.search.learns:
                await asyncio.to_thread(_apply_all, reducer, changes, events)
            else:
                for event in events:
                    reducer(changes, event)
        experiment = locked.experiment.id
        if changes.missing:
            resume_loaded(changes, await entities.lock_trials(unit.connection, experiment, changes.missing))
        if changes.needs_bests:
            choose_best(changes, await load_bests(unit.connection, experiment))
        if changes.needs_rest:
            end_rest(changes, await entities.lock_live_trials(unit.connection, experiment))
        return AppliedDecision(loaded, changes.decide(), causes)

    async def finish(self, unit: Unit, done: Sequence[AppliedDecision]) -> None:
        """Save all decisions in one statement, then emit. Verdicts are sent after the commit."""
        done = [each for each in done if each.decision.is_change]
        if not done or unit.tenant is None:
            return
        await entities.save(unit.connection, unit.tenant, [each.decision for each in done], unit.now)
        for each in done:
            each.loaded.position = each.decision.experiment.position
            await self.searches.save(unit, each.loaded)
            self._emit(unit, each)
            self._answer(unit, each)
            unit.after_commit(partial(count_decision, each.loaded.config.searcher.name, each.decision))
            if each.decision.experiment.due_at is not None:
                unit.after_commit(self._see_budgets)
            if each.loaded.search.is_driven and each.decision.entries:
                unit.after_commit(partial(self._hint, unit.tenant, each.decision.experiment))
        unit.after_commit(self._wake)

    async def on_capacity(self, pools: Sequence[PoolCapacity]) -> None:
        self.capacity.set()
        if any(self.prices.get(pool.pool) != pool.price_per_slot_hour for pool in pools):
            self.budgets.set()

    async def _see_budgets(self) -> None:
        self.budgets.set()

    async def _wake(self) -> None:
        self.publish_requested.set()

    async def _hint(self, tenant: TenantId, experiment: ExperimentRecord) -> None:
        """Wake readers that wait for the search's events."""
        await self.bus.hint(Hint(entity="search", id=experiment.id, cursor=experiment.position), tenant)

    def _emit(self, unit: Unit, done: AppliedDecision) -> None:
        decision, loaded = done.decision, done.loaded
        causes = _causes(done)
        first = done.causes[0] if done.causes else None
        for number in decision.requested:
            trial = decision.trials[number]
            wanted = trial_requested(loaded.submission, loaded.config, trial)
            unit.emit(wanted, cause=causes.get(trial.id, first))
        for number in decision.changed:
            trial = decision.trials[number]
            message = trial_changed(trial, decision.experiment.id)
            unit.emit(message, cause=causes.get(trial.id, first))
        if decision.is_announced:
            unit.emit(experiment_changed(decision.experiment), cause=first)

    def _answer(self, unit: Unit, done: AppliedDecision) -> None:
        asked = {
            (d.message.trial_id, d.message.run_number, d.message.number): d.message
            for d in done.causes
            if isinstance(d.message, ValidationStored)
        }
        for judged in done.decision.judged:
            trial = trial_id(done.decision.experiment.id, judged.trial)
            message = asked[trial, judged.run, judged.validation]
            unit.after_commit(partial(self._send_verdict, message.worker, _verdict(message.run_id, judged)))

    async def _send_verdict(self, worker: WorkerId, verdict: TrialVerdict) -> None:
        faults.point(BEFORE_VERDICT)
        await self.bus.notify_worker(verdict, worker)


def _apply_all(reducer: Reducer[E], changes: Changes, events: Iterable[E]) -> None:
    for event in events:
        reducer(changes, event)


def _verdict(run: RunId, judged: ValidationVerdict) -> TrialVerdict:
    return TrialVerdict(
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


def _causes(done: AppliedDecision) -> dict[TrialId, Delivery[Any]]:
    """Return the newest message about each trial."""
    found: dict[TrialId, Delivery[Any]] = {}
    for delivery in done.causes:
        trial = getattr(delivery.message, "trial_id", None)
        if trial is not None:
            found[TrialId(trial)] = delivery
    return found
