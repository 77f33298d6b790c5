"""The provisioner as processes of its own, and what stands around it: a scheduler that speaks only by messages, and toy workers."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
import nats
from nats.aio.msg import Msg

from deploy.keys.permissions import ADMIN, inbox
from services.provisioner.drivers.processes import find_by_variable, is_held
from shared.bus import Bus, Envelope, RequestContext, Responder
from shared.clock import SystemClock
from shared.errors import Rejected
from shared.ids import SITE, PoolName, WorkerId, new_id
from shared.messages.allocations import Slot
from shared.messages.base import Event
from shared.messages.instances import InstanceChanged, ProviderChanged
from shared.messages.pools import ClusterView, GetCluster, PoolDemand
from shared.messages.workers import (
    DrainWorker,
    IssuedJoin,
    IssueJoin,
    WorkerDrained,
    WorkerJoined,
    WorkerLost,
    WorkerView,
)
from tests.integration.servers import Servers, TestDatabase
from tests.support import warm
from tests.support.waiting import TIMEOUT_S, eventually
from tests.support.warm import Warm

ROOT = Path(__file__).parents[3]
TOY = Path(__file__).with_name("toy_worker.py")
CLOCK = SystemClock()
POOL = PoolName("default")
KINDS: dict[str, type[Event]] = {kind.TYPE: kind for kind in (InstanceChanged, ProviderChanged)}
E = TypeVar("E", bound=Event)
NOTHING_TOLD = ProviderChanged(
    pool=POOL, version=0, driver="local", minimum=0, maximum=0, slots_per_instance=1, instances=0
)


@dataclass
class Toy:
    """A worker as its folder shows it."""

    folder: Path

    @property
    def starts(self) -> list[tuple[int, float]]:
        """Pid and monotonic time of each start."""
        with suppress(FileNotFoundError):
            lines = (self.folder / "starts").read_text().splitlines()
            return [(int(line.split()[0]), float(line.split()[1])) for line in lines if " " in line]
        return []

    @property
    def runs(self) -> bool:
        return is_held(self.folder / "launch.lock")

    @property
    def pid(self) -> int:
        return int((self.folder / "launch.lock").read_text())


@dataclass
class Around:
    """A scheduler's side of the conversation, and all that was said."""

    workers: Path
    environment: dict[str, str]
    servers: Servers
    database: TestDatabase
    publisher: Any
    issued: list[IssueJoin] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    drains: list[DrainWorker] = field(default_factory=list)
    used: dict[WorkerId, int] = field(default_factory=dict)
    joined: dict[WorkerId, int] = field(default_factory=dict)
    refusal: str | None = None

    @asynccontextmanager
    async def provisioner(
        self, behaviour: str = "stay", faults: str = "", **settings: object
    ) -> AsyncIterator[Warm]:
        """The real process; it is ended in order, its workers are left running."""
        own = {f"MUSTER_PROVISIONER__{name.upper()}": str(value) for name, value in settings.items()}
        command = f'["{sys.executable}", "-S", "{TOY}", "{behaviour}"]'
        environment = {
            **os.environ,
            **self.environment,
            "MUSTER_PROVISIONER__DIRECTORY": str(self.workers),
            "MUSTER_PROVISIONER__GATEWAY_URL": "http://gateway",
            "MUSTER_PROVISIONER__WORKER_COMMAND": command,
            "MUSTER_FAULTS": faults,
            "MUSTER_LOG__LEVEL": "warning",
            **own,
        }
        child = await warm.start("services.provisioner", environment)
        try:
            yield child
        finally:
            if child.returncode is None:
                child.send_signal(signal.SIGTERM)
            await asyncio.wait_for(child.wait(), TIMEOUT_S)

    def toys(self) -> list[Toy]:
        return [Toy(folder) for folder in sorted(self.workers.glob("*/"))]

    def running(self) -> list[Toy]:
        return [toy for toy in self.toys() if toy.runs and toy.starts]

    def has(self, count: int) -> Callable[[], bool]:
        return lambda: len(self.running()) == count == len(self.toys())

    def published(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def states(self, worker: str) -> list[str]:
        """What was told of a worker's instance, in the order of its versions: who commits first is not always heard first."""
        published = [one for one in self.published(InstanceChanged) if one.worker == worker]
        return [one.state for one in sorted(published, key=lambda one: one.version)]

    @property
    def provider(self) -> ProviderChanged:
        """The newest that was told of the pool's provider."""
        return max(self.published(ProviderChanged), key=lambda one: one.version, default=NOTHING_TOLD)

    async def demand(self, waiting: int, idle: int = 0, pool: PoolName = POOL, unaffordable: int = 0) -> None:
        await self.tell(
            PoolDemand(
                pool=pool,
                version=time.time_ns() // 1000,
                waiting_slots=waiting,
                used_slots=sum(self.used.values()),
                idle_slots=idle,
                unaffordable_slots=unaffordable,
            )
        )

    async def join_all(self, count: int, used: int = 0) -> list[WorkerId]:
        """Every worker that runs joins, once there are so many; real ones take longer than it takes to see them run."""
        await eventually(self.has(count))
        for toy in self.running():
            worker = WorkerId(toy.folder.name)
            if worker not in self.joined:
                await self.is_told(worker, "joining")
                await self.join(worker, used=used)
        names = [toy.folder.name for toy in self.running()]
        for name in names:
            await self.is_told(name, "ready")
        return [WorkerId(name) for name in names]

    async def is_told(self, worker: str, state: str) -> None:
        await eventually(lambda: state in self.states(worker))

    async def join(self, worker: WorkerId, state: Any = "ready", used: int = 0) -> None:
        self.used[worker] = used
        await self.tell(
            WorkerJoined(
                worker=worker,
                version=self._risen(worker),
                pool=POOL,
                address="127.0.0.1",
                slots=(Slot(id=0, kind="cpu"),),
                state=state,
                joined_at=CLOCK.now(),
            )
        )

    async def drained(self, worker: WorkerId) -> None:
        self.used.pop(worker, None)
        version = self._risen(worker)
        await self.tell(WorkerDrained(worker=worker, version=version, pool=POOL, drained_at=CLOCK.now()))

    async def lost(self, worker: WorkerId) -> None:
        version = self._risen(worker)
        await self.tell(
            WorkerLost(worker=worker, version=version, pool=POOL, reason="silent", lost_at=CLOCK.now())
        )

    async def tell(self, message: Event) -> None:
        """Publishes an event as its owner's outbox would."""
        envelope = Envelope(id=new_id(CLOCK), type=message.TYPE, version=message.VERSION, tenant=SITE)
        await self.publisher.publish(message.subject(SITE), message.to_bytes(), headers=envelope.to_headers())

    async def tells_and_hears(self) -> bool:
        """Whether the bus takes events again."""
        try:
            await self.publisher.stream_info("EVT")
        except Exception:
            return False
        return True

    async def rows(self, statement: str) -> list[Any]:
        connection = await asyncpg.connect(self.database.urls["provisioner"].system)
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    async def let_the_lease_run_out(self) -> None:
        """As if its time had passed; nobody holds it any more."""
        await self.rows("UPDATE provisioner.lease SET expires_at = now() - interval '1 second'")

    async def clear(self) -> None:
        """Ends what tests left, and forgets it."""
        for folder in self.workers.glob("*/"):
            for pid in find_by_variable("MUSTER_WORKER__DIRECTORY", str(folder)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _risen(self, worker: WorkerId) -> int:
        self.joined[worker] = self.joined.get(worker, 0) + 1
        return self.joined[worker]


@asynccontextmanager
async def around(
    servers: Servers, database: TestDatabase, environment: dict[str, str], workers: Path
) -> AsyncIterator[Around]:
    """Everything but the provisioner itself."""
    async with AsyncExitStack() as stack:
        credentials = servers.keys.credentials("scheduler")
        bus = await stack.enter_async_context(await Bus.connect(servers.nats.url, "scheduler", credentials))
        ear = await nats.connect(
            servers.nats.url,
            user_credentials=str(servers.keys.credentials(ADMIN)),
            inbox_prefix=inbox(ADMIN).encode(),
        )
        stack.push_async_callback(ear.close)
        found = Around(workers, environment, servers, database, ear.jetstream())
        stack.push_async_callback(found.clear)

        received: set[UUID] = set()

        async def issue(ask: RequestContext, query: IssueJoin) -> IssuedJoin:
            if found.refusal is not None:
                raise Rejected("pool_closed", found.refusal)
            found.issued.append(query)
            return IssuedJoin(token=f"for-{query.worker}", expires_at=CLOCK.now() + timedelta(hours=1))

        async def view(ask: RequestContext, query: GetCluster) -> ClusterView:
            return ClusterView(pools=(), workers=tuple(_view(w, used) for w, used in found.used.items()))

        async def hear(message: Msg) -> None:
            envelope = Envelope.from_headers(message.headers or {})
            if envelope.id not in received and envelope.type in KINDS:
                received.add(envelope.id)
                found.events.append(KINDS[envelope.type].from_bytes(message.data))

        async def hear_drain(message: Msg) -> None:
            found.drains.append(DrainWorker.from_bytes(message.data))

        await ear.subscribe("evt.v1.>", cb=hear)
        await ear.subscribe("cmd.v1.scheduler.drain_worker", cb=hear_drain)
        await stack.enter_async_context(Responder(bus, "scheduler", {IssueJoin: issue, GetCluster: view}))
        yield found


def _view(worker: WorkerId, used: int) -> WorkerView:
    return WorkerView(
        worker=worker,
        pool=POOL,
        address="127.0.0.1",
        state="ready",
        slots=1,
        used_slots=used,
        slot_kind="cpu",
        last_heartbeat_at=CLOCK.now(),
    )
