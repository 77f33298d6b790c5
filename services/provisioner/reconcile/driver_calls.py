"""Effects on machines: launch, restart and terminate them, and record the outcome. See `loop` and `outcomes`."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import structlog

from services.provisioner import store
from services.provisioner.core.instances.instance import Instance, InstanceState, IntentId, ended
from services.provisioner.core.instances.launches import Intent, Launched, offer_of
from services.provisioner.core.instances.outcomes import on_failed_attempt, on_kicked, on_started_again
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.core.planning.plan import PoolPlan
from services.provisioner.drivers.driver import MachineDriver, MachineRef
from services.provisioner.metrics import provider_call
from services.provisioner.pools.current_pools import Pools
from services.provisioner.reconcile.outcomes import Outcomes
from shared import telemetry
from shared.bus import Bus, Units
from shared.clock import Clock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.errors import MusterError, Transient
from shared.ids import SITE, WorkerId
from shared.messages.workers import IssueJoin
from shared.runtime import faults

BEFORE_LAUNCH = faults.register("provisioner.before_launch")
AFTER_LAUNCH = faults.register("provisioner.after_launch")
AFTER_END = faults.register("provisioner.after_end")
JOIN_TOKEN_TIMEOUT = timedelta(seconds=10)
"""How long to wait for a machine's first join token; the scheduler may be starting too."""
MOST_ENDED_TOGETHER = 50
_ASK_AGAIN_S = 0.1
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TermContext:
    """Dependencies of a leader's term. `drivers` are by provider."""

    pools: Pools
    database: Database
    units: Units
    lease: Lease
    bus: Bus
    drivers: Mapping[str, MachineDriver]
    clock: Clock


@dataclass(slots=True)
class Effects:
    """Runs at most one effect at a time for each worker. The next process repeats effects that the end of this one interrupted."""

    means: TermContext
    wake: Callable[[], None]
    _tasks: dict[WorkerId, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def outcomes(self) -> Outcomes:
        return Outcomes(self.means.units, self.means.lease)

    def begin(self, plan: PoolPlan, live: Sequence[Instance], new: Iterable[Intent]) -> None:
        """Start the due effects that are not running yet; each outcome wakes the loop."""
        for intent in plan.launches:
            called = [
                one.worker for one in live if one.intent == intent and one.state is InstanceState.REQUESTED
            ]
            self._begin(called, partial(self._launch, intent))
        for made in new:
            self._begin([one.worker for one in made.instances], partial(self._launch, made.id))
        for one in plan.starts:
            self._begin([one.worker], partial(self._start_again, one))
        for one in plan.kills:
            self._begin([one.worker], partial(self._kick, one))
        for name in {one.driver for one in plan.terminations}:
            due = [one for one in plan.terminations if one.driver == name and one.worker not in self._tasks]
            for at in range(0, len(due), MOST_ENDED_TOGETHER):
                some = due[at : at + MOST_ENDED_TOGETHER]
                self._begin([one.worker for one in some], partial(self._end, name, some))
        for worker, extra in plan.extras:
            (one,) = (one for one in live if one.worker == worker)
            self._begin([worker], partial(self._end_extra, one, extra))

    def sweep(self, driver: str, machines: Collection[MachineRef]) -> None:
        """Terminate machines left by ended instances and machines without a record."""
        left = [one for one in machines if one.worker not in self._tasks]
        if left:
            self._begin([one.worker for one in left], partial(self.means.drivers[driver].terminate, left))

    async def close(self) -> None:
        """Cancel the running effects."""
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, workers: Sequence[WorkerId], effect: Callable[[], Awaitable[None]]) -> None:
        if workers and not any(worker in self._tasks for worker in workers):
            task = asyncio.create_task(self._guarded(workers, effect))
            self._tasks.update(dict.fromkeys(workers, task))

    async def _guarded(self, workers: Sequence[WorkerId], effect: Callable[[], Awaitable[None]]) -> None:
        try:
            _ = self.means.lease.epoch
            await effect()
        except MusterError as error:
            # Completed effects persist; the next pass finds them.
            _log.warning("an effect or its record failed", workers=workers[:10], error=str(error))
        finally:
            for worker in workers:
                del self._tasks[worker]
            self.wake()

    async def _launch(self, name: IntentId) -> None:
        """Repeat the launch with all of its machines as first requested; only machines not recorded as placed get tokens."""
        async with self.means.database.system() as connection:
            instances = await store.load_intent(connection, name)
        missing = [one for one in instances if one.state is InstanceState.REQUESTED]
        if not missing:
            return
        first = instances[0]
        intent = Intent(name, first.pool, offer_of(first), tuple(instances))
        driver = self.means.drivers[first.driver]
        with telemetry.span("launch instances", intent=name, driver=first.driver, machines=len(missing)):
            try:
                tokens = {} if driver.identity else await self._first_tokens(missing)
                faults.point(BEFORE_LAUNCH)
                with provider_call(first.driver, "launch"):
                    launched = await driver.launch(intent, tokens)
                faults.point(AFTER_LAUNCH)
            except MusterError as error:
                launched = Launched(refused=LaunchRefusal("unknown", str(error)))
            await self.outcomes.record_launch(intent, missing, launched)

    async def _first_tokens(self, missing: Sequence[Instance]) -> dict[WorkerId, str]:
        asked = await asyncio.gather(*(self._join_token(one, is_first=True) for one in missing))
        return {one.worker: token for one, token in zip(missing, asked, strict=True) if token}

    async def _start_again(self, one: Instance) -> None:
        with telemetry.span("start worker again", instance=one.id, worker=one.worker, driver=one.driver):
            try:
                token = await self._join_token(one, is_first=False)
                faults.point(BEFORE_LAUNCH)
                with provider_call(one.driver, "start_again"):
                    await self.means.drivers[one.driver].start_again(one, token)
                faults.point(AFTER_LAUNCH)
            except MusterError as error:
                refusal = LaunchRefusal("unknown", str(error))
                await self.outcomes.record([one], partial(on_failed_attempt, reason=refusal.reason), refusal)
                return
            await self.outcomes.record([one], on_started_again)

    async def _kick(self, one: Instance) -> None:
        await self.means.drivers[one.driver].kick(one.worker)
        await self.outcomes.record([one], on_kicked)

    async def _end(self, driver: str, some: Sequence[Instance]) -> None:
        machines = [MachineRef(one.worker, one.external_id) for one in some]
        with telemetry.span("end instances", driver=driver, machines=len(some)):
            try:
                with provider_call(driver, "terminate"):
                    await self.means.drivers[driver].terminate(machines)
                faults.point(AFTER_END)
            except MusterError as error:
                await self.outcomes.record(some, partial(on_failed_attempt, reason=str(error)))
                return
            await self.outcomes.record(some, ended)

    async def _end_extra(self, one: Instance, extra: str) -> None:
        """Terminate a machine that claims the worker of another, and pause its offer."""
        await self.means.drivers[one.driver].terminate([MachineRef(one.worker, extra)])
        reason = f"machine {extra} claimed {one.worker}, which runs on {one.external_id or 'another machine'}; it was terminated"
        _log.warning("a duplicate machine was terminated", worker=one.worker, machine=extra)
        await self.outcomes.refuse(one, LaunchRefusal("joins_twice", reason))

    async def _join_token(self, one: Instance, is_first: bool) -> str | None:
        """Return a token for this worker. A worker that has joined before keeps its credentials and may start without one."""
        deadline = self.means.clock.monotonic() + JOIN_TOKEN_TIMEOUT.total_seconds()
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
