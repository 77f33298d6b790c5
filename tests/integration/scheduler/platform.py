"""The scheduler as processes of its own, and what stands around it: a searcher that wants trials, fake workers on the bus."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
import nats
from nats.aio.msg import Msg

from deploy.keys.permissions import ADMIN, inbox
from shared.auth.nats_jwt import KeyKind, credentials_text, new_seed, public_key
from shared.bus import Bus, Envelope
from shared.errors import MusterError, Transient
from shared.ids import (
    DEFAULT_TENANT,
    SITE,
    ExperimentId,
    PoolName,
    TenantId,
    TrialId,
    WorkerId,
    new_id,
)
from shared.messages.base import Command, Event, Query
from shared.messages.experiments import TrialRequested
from shared.messages.trial_specs import DesiredState, Isolation, QueueShare, Slots, TrialSpec
from shared.messages.workers import Credentials, IssueJoin, Join
from tests.integration.scheduler.fake_worker import CLOCK, POOL, FakeWorker
from tests.integration.servers import Servers, TestDatabase
from tests.support import warm
from tests.support.waiting import TIMEOUT_S, eventually
from tests.support.warm import Warm

ROOT = Path(__file__).parents[3]
E = TypeVar("E", bound=Event)


class Scheduler:
    """One process. `freeze` and `thaw` stop it as a whole; `kill` ends it without warning."""

    def __init__(self, process: Warm) -> None:
        self.process = process

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), TIMEOUT_S)
        except TimeoutError:
            await self.kill()


class Platform:
    """Schedulers, workers and a searcher on one bus and one database."""

    def __init__(
        self, servers: Servers, database: TestDatabase, environment: dict[str, str], bus: Bus, ear: Any
    ):
        self.servers = servers
        self.database = database
        self.environment = environment
        self.bus = bus
        self.events: list[tuple[Envelope, bytes]] = []
        self._publisher = ear.jetstream()
        self._seeds = 0

    @asynccontextmanager
    async def scheduler(self, **settings: str) -> AsyncIterator[Scheduler]:
        environment = {
            **os.environ,
            **self.environment,
            **settings,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'sdk'}",
        }
        with (self.servers.root / "scheduler.log").open("ab") as log:
            process = await warm.start("services.scheduler", environment, output=log, errors=log)
        running = Scheduler(process)
        try:
            yield running
        finally:
            await running.stop()

    @asynccontextmanager
    async def worker(
        self,
        name: str,
        slots: int = 1,
        pool: PoolName = POOL,
        labels: dict[str, str] | None = None,
        machine: str | None = None,
        isolation: Isolation = "sandbox",
    ) -> AsyncIterator[FakeWorker]:
        """A worker that has joined and beats."""
        await eventually(self.is_led)
        self._seeds += 1
        seed = new_seed(KeyKind.USER, os.urandom(32))
        issued = await self.insist(IssueJoin(pool=pool))
        join = Join(
            token=issued.token,
            worker=WorkerId(name),
            user_key=public_key(seed),
            pool=pool,
            address="127.0.0.1",
            isolation=isolation,
        )
        given: Credentials = await self.insist(join)
        path = self.servers.root / f"{name}-{self._seeds}.creds"
        path.write_text(credentials_text(given.jwt, seed))
        bus = await Bus.connect(given.nats_url, name, path)
        fake = FakeWorker(
            WorkerId(name), bus, slots, labels=labels or {}, machine=machine, isolation=isolation
        )
        fake.warning = given.warning
        await fake.begin()
        try:
            yield fake
        finally:
            await fake.fall_silent()

    async def ask(self, query: Query[Any], tenant: TenantId = SITE) -> Any:
        return await self.bus.ask(query, tenant, timeout_s=20.0)

    async def insist(self, query: Query[Any], tenant: TenantId = SITE) -> Any:
        """Asks until a leader answers, as a worker does."""
        answers: list[Any] = []

        async def is_answered() -> bool:
            with suppress(Transient):
                answers.append(await self.bus.ask(query, tenant, timeout_s=3.0))
            return bool(answers)

        await eventually(is_answered)
        return answers[0]

    async def is_led(self) -> bool:
        from shared.messages.pools import GetCluster

        try:
            await self.bus.ask(GetCluster(), SITE, timeout_s=2.0)
        except MusterError:
            return False
        return True

    async def tell(self, message: Event | Command, tenant: TenantId = DEFAULT_TENANT) -> None:
        """Publishes a message as its owner's outbox would."""
        envelope = Envelope(id=new_id(CLOCK), type=message.TYPE, version=message.VERSION, tenant=tenant)
        subject = message.subject(tenant) if isinstance(message, Event) else message.subject()
        await self._publisher.publish(subject, message.to_bytes(), headers=envelope.to_headers())

    async def want(
        self,
        trial: TrialId,
        wanted: DesiredState = DesiredState.RUN,
        version: int = 1,
        slots: int = 1,
        most: int | None = None,
        experiment: UUID | None = None,
        request: int = 1,
        decide_at: float | None = None,
        tenant: TenantId = DEFAULT_TENANT,
        **spec: Any,
    ) -> None:
        named = ("required_labels", "preferred_labels", "excluded_workers", "single_node")
        where = {name: spec.pop(name) for name in named if name in spec}
        share = QueueShare(priority=spec.pop("priority", None), max_slots=spec.pop("max_slots", None))
        needs = Slots(min=slots, max=most or slots, fraction=spec.pop("fraction", 0), **where)
        await self.tell(
            TrialRequested(
                trial_id=trial,
                experiment_id=ExperimentId(experiment or trial),
                version=version,
                request=request,
                desired_state=wanted,
                decide_at=decide_at,
                spec=TrialSpec(
                    experiment_number=1,
                    trial_number=1,
                    entrypoint="python train.py",
                    seed=1,
                    metric="loss",
                    slots=needs,
                    share=share,
                    **spec,
                ),
            ),
            tenant,
        )

    def told(self, kind: type[E], trial: UUID | None = None) -> list[E]:
        """Events of a type that were published, in order; repeated publications of one count once."""
        seen: dict[UUID, E] = {}
        for envelope, payload in self.events:
            if envelope.type == kind.TYPE and envelope.id not in seen:
                event = kind.from_bytes(payload)
                if trial is None or getattr(event, "trial_id", None) == trial:
                    seen[envelope.id] = event
        return list(seen.values())

    async def heard(self, kind: type[E], trial: UUID, number: int = 1) -> E:
        """The event of a type about a trial with this number, once it is told: what a worker sees may be here sooner."""
        await eventually(lambda: len(self.told(kind, trial)) >= number)
        return self.told(kind, trial)[number - 1]

    async def once(self, trials: Sequence[UUID], *kinds: type[Event]) -> None:
        """Waits until each of these was told of each trial; each was told once."""
        await eventually(lambda: all(self.told(kind, trial) for kind in kinds for trial in trials))
        for kind in kinds:
            assert [len(self.told(kind, trial)) for trial in trials] == [1] * len(trials), kind

    async def rows(self, statement: str, *arguments: Any) -> Sequence[Any]:
        connection = await asyncpg.connect(self.database.urls["scheduler"].system)
        try:
            return list(await connection.fetch(statement, *arguments))
        finally:
            await connection.close()


async def runs_on(workers: Sequence[FakeWorker], trial: UUID) -> None:
    """Waits until the trial runs on all of these."""
    await eventually(lambda: all(trial in worker.running for worker in workers))


def new_trial() -> TrialId:
    return TrialId(new_id(CLOCK))


@asynccontextmanager
async def platform(
    servers: Servers, database: TestDatabase, settings: Callable[[str], dict[str, str]]
) -> AsyncIterator[Platform]:
    """Everything but the scheduler itself."""
    async with AsyncExitStack() as stack:
        gateway = servers.keys.credentials("gateway")
        bus = await stack.enter_async_context(await Bus.connect(servers.nats.url, "gateway", gateway))
        ear = await nats.connect(
            servers.nats.url,
            user_credentials=str(servers.keys.credentials(ADMIN)),
            inbox_prefix=inbox(ADMIN).encode(),
        )
        stack.push_async_callback(ear.close)
        found = Platform(servers, database, settings("scheduler"), bus, ear)

        async def hear(message: Msg) -> None:
            found.events.append((Envelope.from_headers(message.headers or {}), message.data))

        await ear.subscribe("evt.v1.>", cb=hear)
        yield found
