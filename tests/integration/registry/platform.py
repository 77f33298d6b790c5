"""The registry as processes of its own, with what stands around it: a scheduler that knows allocations, workers, other services."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from muster.errors import Transient
from shared.auth.nats_jwt import KeyKind, WorkerIssuer, credentials_text, new_seed, public_key, worker_token
from shared.bus import Bus, Envelope, Responder
from shared.database.partitions import partition_name
from shared.ids import (
    DEFAULT_TENANT,
    CheckpointId,
    TenantId,
    WorkerId,
    derived_id,
    new_id,
)
from shared.messages.base import Command, Event
from shared.messages.checkpoints import CommitCheckpoint, Committed, Restore, Restored, Upload, UploadLinks
from shared.messages.experiments import (
    GetReferences,
)
from shared.messages.files import FileEntry
from shared.messages.reports import LogBatch, LogLine, Mark, Report, ReportBatch, Validation
from shared.messages.runs import GetAllocation
from tests.integration.registry.scheduling import CLOCK, Run, Scheduler
from tests.integration.servers import Servers, TestDatabase
from tests.support import warm
from tests.support.metrics import Metrics, scrape
from tests.support.waiting import TIMEOUT_S
from tests.support.warm import Warm

ROOT = Path(__file__).parents[3]
OTHER_TENANT = TenantId(derived_id(DEFAULT_TENANT, "other"))


class Registry:
    """One replica as a process; `faults` as in `MUSTER_FAULTS`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self.child: Warm | None = None
        self.lines: list[bytes] = []

    def logged(self, event: str, **fields: str) -> list[dict[str, Any]]:
        """What it has said of an event, as far as it was read."""
        said = [json.loads(line) for line in self.lines if line.startswith(b"{") and event.encode() in line]
        return [line for line in said if fields.items() <= line.items()]

    def metrics(self) -> Metrics:
        """What it shows on its side port now."""
        return scrape(int(self.logged("the process started")[-1]["side_port"]))

    async def start(self, faults: str = "") -> None:
        environment = {**os.environ, **self.environment, "MUSTER_FAULTS": faults}
        self.child = await warm.start_with_stderr("services.registry", environment)
        assert self.child.stderr is not None
        lines = self.lines
        async with asyncio.timeout(TIMEOUT_S):
            while line := await self.child.stderr.readline():
                lines.append(line)
                if b"became ready" in line:
                    self._reading = asyncio.create_task(self._read())
                    return
        raise AssertionError(b"".join(lines).decode())

    async def _read(self) -> None:
        assert self.child is not None and self.child.stderr is not None
        while line := await self.child.stderr.readline():
            self.lines.append(line)
            if b'"error"' in line or b"Traceback" in line:
                print(line.decode(), file=sys.stderr)

    async def died(self) -> None:
        """Wait until a fault has killed it."""
        assert self.child is not None
        assert await asyncio.wait_for(self.child.wait(), TIMEOUT_S) == -signal.SIGKILL

    async def stop(self) -> None:
        if self.child is None or self.child.returncode is not None:
            return
        self.child.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.child.wait(), TIMEOUT_S)
            return
        self.child.kill()
        await self.child.wait()


@dataclass
class Platform:
    """Everything round the registry, with short words for what tests do."""

    servers: Servers
    database: TestDatabase
    environment: dict[str, str]
    scheduler: Scheduler
    buses: dict[str, Bus]
    worker_ids: tuple[str, ...] = ("w-1", "w-2")

    @asynccontextmanager
    async def registry(self, faults: str = "", **settings: str) -> AsyncIterator[Registry]:
        replica = Registry({**self.environment, **settings})
        await replica.start(faults)
        try:
            yield replica
        finally:
            await replica.stop()

    async def send(self, request: Any, worker: str = "w-1", timeout_s: float = 6.0) -> Any:
        return await self.buses[worker].request(request, WorkerId(worker), timeout_s)

    async def insist(self, request: Any, worker: str = "w-1", attempt_s: float = 2.0) -> Any:
        """Repeat a request until somebody answers, as a worker does: a replica may take long to start."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                try:
                    return await self.send(request, worker, timeout_s=attempt_s)
                except Transient:
                    await asyncio.sleep(0.2)

    async def ask(self, query: Any, tenant: TenantId = DEFAULT_TENANT) -> Any:
        return await self.buses["gateway"].ask(query, tenant, 6.0)

    async def reports(
        self, run: Run, first: int, records: Sequence[Report | Validation], worker: str = "w-1"
    ) -> Mark:
        mark = await self.insist(ReportBatch(run_id=run.id, first=first, records=tuple(records)), worker)
        assert isinstance(mark, Mark)
        return mark

    async def lines(self, run: Run, first: int, texts: list[str], worker: str = "w-1", **more: Any) -> Mark:
        known = {"rank": 0, "stream": "stdout", "time_ms": 1, **more}
        records = tuple(LogLine(text=text, **known) for text in texts)
        mark = await self.insist(LogBatch(run_id=run.id, first=first, records=records), worker)
        assert isinstance(mark, Mark)
        return mark

    async def restore(self, run: Run) -> Restored:
        restored = await self.insist(Restore(run_id=run.id))
        assert isinstance(restored, Restored)
        return restored

    async def upload(
        self,
        run: Run,
        checkpoint: CheckpointId,
        number: int,
        step: int,
        files: list[FileEntry],
        *,
        bound: bool = True,
    ) -> UploadLinks:
        """Announce, page by page; not `bound`, as a worker that sends no headers, and against a store that does not verify."""
        announcement = Upload(
            run_id=run.id,
            checkpoint_id=checkpoint,
            number=number,
            step=step,
            files=tuple(files),
            takes_headers=bound,
            first=0,
        )
        links = page = await self.insist(announcement, attempt_s=10.0)
        while page.next is not None:
            page = await self.insist(announcement.model_copy(update={"first": page.next}), attempt_s=10.0)
            links = page.model_copy(update={"files": (*links.files, *page.files)})
        assert isinstance(links, UploadLinks)
        return links

    async def commit(self, run: Run, checkpoint: CheckpointId, after_report: int = 0) -> Committed:
        committed = await self.insist(
            CommitCheckpoint(run_id=run.id, checkpoint_id=checkpoint, after_report=after_report)
        )
        assert isinstance(committed, Committed)
        return committed

    async def publish(
        self, service: str, message: Event | Command, tenant: TenantId = DEFAULT_TENANT
    ) -> None:
        envelope = Envelope(new_id(CLOCK), message.TYPE, message.VERSION, tenant)
        subject = message.subject(tenant) if isinstance(message, Event) else message.subject()
        await self.buses[service].jetstream.publish(
            subject, message.to_bytes(), headers=envelope.to_headers()
        )

    async def rows(self, sql: str, *arguments: object) -> list[Any]:
        """As the system role sees it: all tenants."""
        connection = await asyncpg.connect(self.database.urls["registry"].system)
        try:
            return list(await connection.fetch(sql, *arguments))
        finally:
            await connection.close()

    async def make_day(self, table: str, day: date) -> None:
        """Let a table hold rows of a day that is over."""
        server = self.servers.postgres
        connection = await asyncpg.connect(server.url("postgres", server.password, self.database.name))
        await connection.execute(
            f"CREATE TABLE registry.{partition_name(table, day)} PARTITION OF registry.{table}"
            f" FOR VALUES FROM ('{day}') TO (date '{day}' + 1)"
        )
        await connection.close()

    async def count(self, sql: str, *arguments: object) -> int:
        return int((await self.rows(sql, *arguments))[0][0])

    async def points(self, run: Run) -> int:
        """How many are stored of this run, those that no longer count among them."""
        joined = "registry.point_chunk c JOIN registry.series s ON s.id = c.series"
        return await self.count(f"SELECT coalesce(sum(c.count), 0) FROM {joined} WHERE s.run = $1", run.id)

    async def emitted(self, kind: str, **where: UUID) -> list[dict[str, Any]]:
        """The bodies of this type's events in the outbox, in order, that have these ids."""
        import json

        rows = await self.rows("SELECT subject, payload FROM registry.outbox ORDER BY position")
        bodies = [json.loads(row["payload"]) for row in rows if row["subject"].endswith(f".{kind}")]
        return [body for body in bodies if all(body[name] == str(value) for name, value in where.items())]


@asynccontextmanager
async def platform(
    servers: Servers, database: TestDatabase, environment: Callable[[str], dict[str, str]]
) -> AsyncIterator[Platform]:
    scheduler = Scheduler()
    nats_url = servers.nats.url
    buses = {
        name: await Bus.connect(nats_url, name, servers.keys.credentials(name))
        for name in ("gateway", "searcher", "scheduler")
    }
    found = Platform(servers, database, environment("registry"), scheduler, buses)
    issuer = WorkerIssuer.from_json(servers.keys.worker_issuer.read_text())
    for worker in found.worker_ids:
        seed = new_seed(KeyKind.USER, os.urandom(32))
        until = CLOCK.now() + timedelta(hours=1)
        token = worker_token(issuer, worker, public_key(seed), now=CLOCK.now(), until=until)
        path = servers.root / f"{worker}.creds"
        path.write_text(credentials_text(token, seed))
        buses[worker] = await Bus.connect(nats_url, worker, path)
    try:
        async with (
            Responder(buses["scheduler"], "scheduler", {GetAllocation: scheduler.on_allocation}),
            Responder(buses["searcher"], "searcher", {GetReferences: scheduler.on_references}),
        ):
            yield found
    finally:
        for bus in buses.values():
            await bus.close()
