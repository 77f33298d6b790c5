"""What is done to machines: started and ended, one task for each instance, and the outcome on record. Neighbour: `reconcile`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog

from services.provisioner import store
from services.provisioner.announce import changed, provided
from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instance import Instance, IntentId, State, ended
from services.provisioner.core.intents import Intent
from services.provisioner.core.plan import (
    Plan,
    on_kicked,
    on_not_done,
    on_ordered,
    on_started_again,
    pause_after,
)
from services.provisioner.core.sizing import Policy
from services.provisioner.drivers.base import Driver, Machine
from shared import faults, telemetry
from shared.bus import Bus, Units
from shared.clock import Clock
from shared.db import Database
from shared.errors import MusterError, Transient
from shared.ids import SITE, WorkerId
from shared.leases import Lease
from shared.messages.workers import IssueJoin

BEFORE_LAUNCH = faults.register("provisioner.before_launch")
AFTER_LAUNCH = faults.register("provisioner.after_launch")
AFTER_END = faults.register("provisioner.after_end")
JOIN_PATIENCE = timedelta(seconds=10)
"""How long the first join token of a machine is waited for; the scheduler may be starting too."""
_ASK_AGAIN_S = 0.1
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Means:
    """What a term works with."""

    policy: Policy
    database: Database
    units: Units
    lease: Lease
    bus: Bus
    driver: Driver
    clock: Clock


@dataclass(slots=True)
class Effects:
    """At most one effect at a time for each worker. What is cut off by the end of the process is done again by the next."""

    means: Means
    wake: Callable[[], None]
    _tasks: dict[WorkerId, asyncio.Task[None]] = field(default_factory=dict)

    def begin(self, plan: Plan, new: Iterable[Instance]) -> None:
        """Begins what is due and not in hand already; the loop is woken by each outcome."""
        for one in (*plan.starts, *new):
            self._begin(one.worker, partial(self._start, one))
        for one in plan.kicks:
            self._begin(one.worker, partial(self._kick, one))
        for one in plan.ends:
            self._begin(one.worker, partial(self._end, one))

    def sweep(self, workers: Iterable[WorkerId]) -> None:
        """Ends what instances that have ended left behind."""
        for worker in workers:
            self._begin(worker, partial(self.means.driver.terminate, [Machine(worker)]))

    async def close(self) -> None:
        """Gives up what is in hand."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, worker: WorkerId, effect: Callable[[], Awaitable[None]]) -> None:
        if worker not in self._tasks:
            self._tasks[worker] = asyncio.create_task(self._guarded(worker, effect))

    async def _guarded(self, worker: WorkerId, effect: Callable[[], Awaitable[None]]) -> None:
        try:
            _ = self.means.lease.epoch
            await effect()
        except MusterError as error:
            # What was done stands, and is found again by the next pass.
            _log.warning("an effect or its record failed", worker=worker, error=str(error))
        finally:
            del self._tasks[worker]
            self.wake()

    async def _start(self, one: Instance) -> None:
        is_first = one.state is State.WANTED
        with telemetry.span("launch instance", instance=one.id, worker=one.worker, driver=one.driver):
            try:
                token = await self._join_token(one, is_first)
                faults.point(BEFORE_LAUNCH)
                if is_first:
                    await self._launch(one, token)
                else:
                    await self.means.driver.start_again(one, token)
                faults.point(AFTER_LAUNCH)
            except MusterError as error:
                await self._record(one, partial(on_not_done, reason=str(error)), fault=str(error))
                return
            await self._record(one, on_ordered if is_first else on_started_again)

    async def _launch(self, one: Instance, token: str | None) -> None:
        kind = MachineKind(one.driver, one.driver, one.slots, one.kind)
        offer = Offer(kind, price_per_hour=one.price_per_hour)
        intent = Intent(IntentId(one.id), one.pool, offer, (one,))
        tokens = {one.worker: token} if token is not None else {}
        refused = (await self.means.driver.launch(intent, tokens)).refused
        if refused is not None:
            raise Transient(refused.reason)

    async def _kick(self, one: Instance) -> None:
        await self.means.driver.kick(one.worker)
        await self._record(one, on_kicked)

    async def _end(self, one: Instance) -> None:
        with telemetry.span("end instance", instance=one.id, worker=one.worker, driver=one.driver):
            try:
                await self.means.driver.terminate([Machine(one.worker)])
                faults.point(AFTER_END)
            except MusterError as error:
                await self._record(one, partial(on_not_done, reason=str(error)))
                return
            await self._record(one, ended, fault=one.reason if one.ending == "failed" else None)

    async def _join_token(self, one: Instance, is_first: bool) -> str | None:
        """A token for this worker alone. One that has joined before keeps credentials and can do without."""
        deadline = self.means.clock.monotonic() + JOIN_PATIENCE.total_seconds()
        query = IssueJoin(pool=one.pool, worker=one.worker)
        while True:
            try:
                return (await self.means.bus.ask(query, SITE, timeout_s=2.0)).token
            except Transient:
                if not is_first and one.ready_at is not None:
                    return None
                if self.means.clock.monotonic() > deadline:
                    raise
                await asyncio.sleep(_ASK_AGAIN_S)

    async def _record(
        self, one: Instance, outcome: Callable[[Instance, datetime], Instance], fault: str | None = None
    ) -> None:
        """The outcome for the instance as it now stands; `fault` holds back further launches of the pool for a while."""
        pool = one.pool
        async with self.means.units.system() as unit:
            await self.means.lease.guard(unit.connection)
            for before in await store.lock_live(unit.connection, [one.id]):
                after = outcome(before, unit.now)
                if after == before:
                    continue
                await store.save_change(unit.connection, before, after)
                if (after.state, after.reason) != (before.state, before.reason):
                    unit.emit(changed(after), tenant=SITE)
            if fault is not None:
                failures = (await store.load_provider(unit.connection, pool)).failures + 1
                held_back = unit.now + pause_after(failures)
                told = await store.change_provider(
                    unit.connection, pool, fault=fault, failures=failures, retry_at=held_back
                )
                unit.emit(provided(told), tenant=SITE)
