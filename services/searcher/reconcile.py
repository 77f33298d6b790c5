"""Periodic work of the searcher.

It publishes progress, widens searches while slots are idle, enforces budgets, ends trials whose last reports never
arrive, and ends searches whose driver programs stay away.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from services.searcher import events
from services.searcher.core.reducers.limits import keep_budget, widen
from services.searcher.core.reducers.runs import on_overdue
from services.searcher.core.search.widening import Idle
from services.searcher.runner.dispatcher import Dispatcher
from services.searcher.runner.search_drivers import Drivers
from services.searcher.settings import SearcherSection
from services.searcher.store import capacity, entities, search_drivers, unpublished
from services.searcher.store.capacity import SearchKey
from services.searcher.store.entities import Locked
from services.searcher.store.unpublished import Overdue
from shared.bus import Unit, Units
from shared.clock import Clock
from shared.ids import PoolName
from shared.runtime.loops import repeat

SAFETY_S = 15.0
"""Interval at which each loop runs without a local event, to find work of replicas that died, and budgets and prices set by others."""


@dataclass(frozen=True, slots=True)
class Loops:
    """Loops that run in every replica. Row locks make sure that only one replica publishes each change."""

    units: Units
    dispatcher: Dispatcher
    drivers: Drivers
    clock: Clock
    settings: SearcherSection
    counted: dict[PoolName, float] = field(default_factory=dict)
    """Prices at which searches with a cost limit were last checked."""

    async def announce(self) -> None:
        """Publish progress, best and results, each experiment's at most once a round; runs until cancelled."""
        await repeat(self._announce_round, timedelta(seconds=SAFETY_S), self.dispatcher.publish_requested)

    async def widen(self) -> None:
        """Create more trials while slots are idle, and no more while requests wait; runs until cancelled."""
        await repeat(self.widen_once, timedelta(seconds=SAFETY_S), self.dispatcher.capacity)

    async def keep_budgets(self) -> None:
        """Stop searches at the limits of their budgets; runs until cancelled."""
        await repeat(self._budget_round, timedelta(seconds=SAFETY_S), self.dispatcher.budgets)

    async def settle(self) -> None:
        """End trials that wait too long for missing reports; runs until cancelled."""
        await repeat(self.settle_once, timedelta(seconds=self.settings.settle_every_s))

    async def end_undriven(self) -> None:
        """End searches whose driver programs stay away; runs until cancelled."""
        await repeat(self.end_undriven_once, timedelta(seconds=self.settings.settle_every_s))

    async def _announce_round(self) -> None:
        await self.announce_once()
        await asyncio.sleep(self.settings.announce_every_s)

    async def announce_once(self) -> None:
        every = timedelta(seconds=self.settings.announce_every_s * 0.9)
        async with self.units.system() as unit:
            for found in await unpublished.take_pending_trials(unit.connection):
                message = events.trial_changed(found.trial, found.experiment)
                unit.emit(message, tenant=found.tenant)
            for changed in await unpublished.take_pending_experiments(unit.connection, unit.now, every):
                unit.emit(events.experiment_changed(changed.experiment), tenant=changed.tenant)
            if await unpublished.is_any_left(unit.connection):
                self.dispatcher.publish_requested.set()
            late = await unpublished.load_skipped(unit.connection, unit.now - 2 * every)
        for experiment in late:
            # One at a time, so that no other lock is held while waiting for an experiment.
            async with self.units.system() as unit:
                for changed in await unpublished.take_pending_experiment(
                    unit.connection, experiment, unit.now
                ):
                    unit.emit(events.experiment_changed(changed.experiment), tenant=changed.tenant)

    async def widen_once(self) -> None:
        async with self.units.system() as unit:
            pools = await capacity.take_changed_pools(unit.connection)
            due = [(pool, await capacity.load_widening(unit.connection, pool)) for pool in pools]
        for pool, searching in due:
            left = pools[pool]
            for each in searching:
                left = await self._widen(each, left)

    async def _widen(self, each: SearchKey, idle: Idle) -> Idle:
        """Widen a search and return the slots that are still idle."""
        async with self.units.tenant(each.tenant) as unit:
            experiment = await entities.lock_experiment(unit.connection, each.experiment)
            if experiment is None:
                return idle
            decision = await self.dispatcher.decide_one(unit, Locked(experiment, []), widen, idle)
        made = sum(trial.slots for trial in decision.trials.values())
        return replace(idle, slots=max(0, idle.slots - made))

    async def read_prices(self) -> None:
        """Load the present prices of slots."""
        async with self.units.system() as unit:
            await self._read_prices(unit)

    async def _budget_round(self) -> timedelta | None:
        """Check budgets at most once per `budget_every_s`, however often they change."""
        due_at = await self.keep_budgets_once()
        await asyncio.sleep(self.settings.budget_every_s)
        return None if due_at is None else max(timedelta(0), due_at - self.clock.now())

    async def keep_budgets_once(self) -> datetime | None:
        """Check the budgets that are due. Return when the next check is due; None if no limit comes closer with time alone."""
        async with self.units.system() as unit:
            await self._read_prices(unit)
            due = dict.fromkeys(await capacity.load_due(unit.connection, unit.now))
            next_at = await capacity.load_next_due(unit.connection)
            prices = dict(self.dispatcher.prices)
            if prices != self.counted:
                due |= dict.fromkeys(await capacity.load_costed(unit.connection))
        for each in due:
            async with self.units.tenant(each.tenant) as unit:
                experiment = await entities.lock_experiment(unit.connection, each.experiment)
                if experiment is None:
                    continue
                trials = await entities.lock_live_trials(unit.connection, each.experiment)
                await self.dispatcher.decide_one(unit, Locked(experiment, trials), keep_budget, prices)
        self.counted.clear()
        self.counted.update(prices)
        return self.clock.now() if due else next_at

    async def _read_prices(self, unit: Unit) -> None:
        self.dispatcher.prices.clear()
        self.dispatcher.prices.update(await capacity.load_prices(unit.connection))

    async def settle_once(self) -> None:
        before = self.clock.now() - timedelta(seconds=self.settings.settle_after_s)
        async with self.units.system() as unit:
            overdue = await unpublished.load_overdue(unit.connection, before)
        for each in overdue:
            await self._settle(each)

    async def _settle(self, overdue: Overdue) -> None:
        async with self.units.tenant(overdue.tenant) as unit:
            for locked in await entities.lock_by_trials(unit.connection, [overdue.trial]):
                await self.dispatcher.decide_one(unit, locked, on_overdue, locked.trials[0].number)

    async def end_undriven_once(self) -> None:
        async with self.units.system() as unit:
            undriven = await search_drivers.load_undriven(unit.connection, unit.now)
        for each in undriven:
            await self.drivers.end(each)
