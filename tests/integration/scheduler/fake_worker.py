"""A worker as the scheduler knows it: nothing but what it says and hears on the bus."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from nats.aio.msg import Msg

from shared.bus import Bus
from shared.clock import SystemClock
from shared.errors import MusterError
from shared.ids import PoolName, WorkerId, new_id
from shared.messages.allocations import DesiredSet, ObservedAllocation, ObservedSet, Slot
from shared.messages.trial_specs import Isolation, Signal

CLOCK = SystemClock()
POOL = PoolName("default")


@dataclass
class FakeWorker:
    """A worker as the bus sees it: it takes desired sets, runs what they name, and says what it has."""

    id: WorkerId
    bus: Bus
    slots: int = 1
    pool: PoolName = POOL
    heartbeat_s: float = 0.5
    starts: bool = True
    labels: dict[str, str] = field(default_factory=dict)
    machine: str | None = None
    isolation: Isolation = "sandbox"
    warning: str | None = None
    incarnation: UUID = field(default_factory=lambda: new_id(CLOCK))
    sequence: int = 0
    epoch: int = 0
    has: dict[UUID, ObservedAllocation] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    last_set: DesiredSet | None = None
    tenant_of: dict[UUID, UUID] = field(default_factory=dict)
    _beating: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        await self.bus.subscribe(f"wrk.v1.{self.id}.desired", self._on_desired)
        await self.bus.flush()
        self._beating = asyncio.create_task(self._beat())

    async def fall_silent(self) -> None:
        """As if the machine had gone: no heartbeat, no answer."""
        if self._beating is not None:
            self._beating.cancel()
        await self.bus.close()

    async def say(self) -> None:
        with suppress(MusterError):
            await self.bus.request(self._observed(), self.id, timeout_s=1.0)

    async def exit(self, trial: UUID | None = None, **how: Any) -> None:
        """Ends the run of a trial (any, by default), and says so at once."""
        for allocation, observed in list(self.has.items()):
            if observed.state == "running" and trial in (None, self._trials.get(allocation)):
                defaults = {"exit_code": 0}
                self.has[allocation] = observed.model_copy(update={"state": "exited", **defaults, **how})
        await self.say()

    async def save(self, trial: UUID) -> None:
        """Says that the trial's run has saved one more checkpoint."""
        for allocation, observed in list(self.has.items()):
            if observed.state == "running" and self._trials[allocation] == trial:
                more = {"checkpoints": observed.checkpoints + 1}
                self.has[allocation] = observed.model_copy(update=more)
        await self.say()

    @property
    def running(self) -> set[UUID]:
        return {self._trials[a] for a, observed in self.has.items() if observed.state == "running"}

    def wanted(self, trial: UUID) -> Signal | None:
        found = [o.signal for a, o in self.has.items() if self._trials[a] == trial]
        return found[-1] if found else None

    @property
    def tenants(self) -> set[UUID]:
        """The tenants whose runs it has, ended ones included: their slots are not free yet."""
        return {self.tenant_of[allocation] for allocation in self.has}

    @property
    def _trials(self) -> dict[UUID, UUID]:
        found: dict[UUID, UUID] = self.__dict__.setdefault("trials", {})
        return found

    async def _on_desired(self, message: Msg) -> None:
        desired = DesiredSet.from_bytes(message.data)
        if desired.epoch < self.epoch:
            self.refused.append(desired.epoch)
        else:
            self.epoch, self.last_set = desired.epoch, desired
            self._follow(desired)
        await message.respond(self._observed().to_bytes())

    def _follow(self, desired: DesiredSet) -> None:
        named = {allocation.allocation_id: allocation for allocation in desired.allocations}
        for gone in self.has.keys() - named.keys():
            del self.has[gone]
        for allocation_id, allocation in named.items():
            observed = self.has.get(allocation_id)
            if observed is None:
                assert allocation.spec is not None, "a new allocation comes with its spec"
                self._trials[allocation_id] = allocation.trial_id
                self.tenant_of[allocation_id] = allocation.tenant
                self.started.append(allocation.token)
                observed = ObservedAllocation(
                    allocation_id=allocation_id,
                    run_id=allocation.run_id,
                    token=allocation.token,
                    generation=allocation.generation,
                    state="running",
                )
            changes: dict[str, Any] = {"signal": allocation.signal, "decide_at": allocation.decide_at}
            if allocation.members[0].worker == self.id and len(allocation.members) > 1:
                changes["rendezvous"] = f"127.0.0.1:{allocation.token}"
            self.has[allocation_id] = observed.model_copy(update=changes)

    def _observed(self) -> ObservedSet:
        self.sequence += 1
        return ObservedSet(
            worker=self.id,
            incarnation=self.incarnation,
            sequence=self.sequence,
            epoch=self.epoch,
            pool=self.pool,
            address="127.0.0.1",
            slots=tuple(Slot(id=number, kind="cpu") for number in range(self.slots)),
            allocations=tuple(self.has.values()),
            labels=self.labels,
            machine=self.machine,
            isolation=self.isolation,
            isolation_detail="network namespaces: no" if self.isolation == "none" else "",
        )

    async def _beat(self) -> None:
        while True:
            await self.say()
            await asyncio.sleep(self.heartbeat_s)
