"""Delivery through outbox, JetStream and inbox, from the sender's transaction to the committed effect.

First as fast as one consumer takes them, in batches; then at 200 a second, one transaction each, for the delay of a single hop. Sender and
consumer are processes of their own; Postgres and JetStream sync every write.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import uvloop
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from shared.bus import Bus, Consumer, Delivery, Relay, Unit, Units
from shared.clock import SystemClock
from shared.database.engine import Database
from shared.ids import DEFAULT_TENANT, ExperimentId, derived_id
from shared.messages.experiments import SubmissionCommitted
from shared.settings import PostgresSettings
from tests.bench.durable import DurableServers
from tests.bench.harness import Figures, Report, percentile, run
from tests.integration.bus.relaying import make_tables
from tests.integration.servers import Servers, TestDatabase

EVENTS = 20_000
BATCH = 100
PACED = 2_000
RATE = 200.0
ROOT = Path(__file__).parents[2]


async def consume(environment: dict[str, str]) -> None:
    """The consumer's process: one row an event, with the time at which its transaction ends."""

    async def handle(unit: Unit, batch: list[Delivery[SubmissionCommitted]]) -> None:
        statement = text(
            "INSERT INTO searcher.effects (id, tenant, number)"
            " SELECT e.id, CAST(:tenant AS uuid), e.number"
            " FROM unnest(CAST(:ids AS uuid[]), CAST(:numbers AS int[])) AS e(id, number)"
        )
        messages = [delivery.message for delivery in batch]
        numbers = [message.number for message in messages]
        parameters = {"tenant": unit.tenant, "ids": [m.experiment_id for m in messages], "numbers": numbers}
        await unit.connection.execute(statement, parameters)

        async def done() -> None:
            ended = time.time_ns()
            print("\n".join(f"{number} {ended}" for number in numbers), flush=True)

        unit.after_commit(done)

    clock = SystemClock()
    async with (
        Database(_settings(environment), "searcher") as database,
        await Bus.connect(
            environment["MUSTER_NATS__URL"], "searcher", Path(environment["MUSTER_NATS__CREDENTIALS"])
        ) as bus,
    ):
        relay = Relay(bus, database, "searcher", clock)
        units = Units(database, relay, "searcher", clock)
        await Consumer(bus, units, "searcher", {SubmissionCommitted: handle}).run(asyncio.Event())


class Sink:
    """What the consumer's process says: when each event took effect."""

    def __init__(self) -> None:
        self.ended: dict[int, int] = {}
        self.doubled = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            number, ended = map(int, line.split())
            self.doubled += number in self.ended
            self.ended[number] = ended

    async def until(self, number: int) -> None:
        end = time.monotonic() + 120
        while len(self.ended) < number and time.monotonic() < end:
            await asyncio.sleep(0.01)


async def send(units: Units, first: int, count: int) -> None:
    async with units.tenant(DEFAULT_TENANT) as unit:
        for number in range(first, first + count):
            unit.emit(
                SubmissionCommitted(
                    experiment_id=ExperimentId(derived_id(DEFAULT_TENANT, number)),
                    number=number,
                    name="benchmark",
                    workspace="w",
                    project="p",
                    owner="o",
                    config={"searcher": {"name": "single"}},
                    submitted_at=unit.now,
                )
            )


async def measure_with(report: Report, servers: Servers, database: TestDatabase) -> Figures:
    for schema in ("gateway", "searcher"):
        await make_tables(database.urls[schema].owner, schema)
    await _add_number(database)
    environment = {**os.environ, **servers.environment("searcher", database), "PYTHONPATH": str(ROOT)}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.delivery", "consume",
        cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    sink = Sink()
    assert child.stdout is not None
    reading = asyncio.create_task(sink.read(child.stdout))
    try:
        return await _send_all(report, servers.environment("gateway", database), sink)
    finally:
        child.terminate()
        await child.wait()
        await reading


async def _send_all(report: Report, environment: dict[str, str], sink: Sink) -> Figures:
    clock = SystemClock()
    async with (
        Database(_settings(environment), "gateway") as gateway,
        await Bus.connect(
            environment["MUSTER_NATS__URL"], "gateway", Path(environment["MUSTER_NATS__CREDENTIALS"])
        ) as bus,
    ):
        relay = Relay(bus, gateway, "gateway", clock)
        units = Units(gateway, relay, "gateway", clock)
        publishing = asyncio.create_task(relay.run())
        await send(units, 0, 1)
        await sink.until(1)
        started = time.time_ns()
        for first in range(1, EVENTS + 1, BATCH):
            await send(units, first, BATCH)
        await sink.until(EVENTS + 1)
        seconds = (max(sink.ended.values()) - started) / 1e9
        sent = await _paced(units, EVENTS + 1)
        await sink.until(EVENTS + 1 + PACED)
        publishing.cancel()
    expected = 1 + EVENTS + PACED
    report.check("lost", 0, expected - len(sink.ended))
    report.check("doubled", 0, sink.doubled)
    delays_ms = [(sink.ended[number] - at) / 1e6 for number, at in sent.items() if number in sink.ended]
    report.say(f"hop median {percentile(delays_ms, 0.5):.2f} ms, p90 {percentile(delays_ms, 0.9):.2f} ms")
    return {
        "events_per_s": EVENTS / seconds,
        "hop_p99_ms": percentile(delays_ms, 0.99),
        "hop_median_ms": percentile(delays_ms, 0.5),
    }


async def _paced(units: Units, first: int) -> dict[int, int]:
    """An open loop: each event is sent at its time, whatever became of those before."""
    sent: dict[int, int] = {}
    tasks: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    start = loop.time()
    for index in range(PACED):
        await asyncio.sleep(max(0.0, start + index / RATE - loop.time()))
        sent[first + index] = time.time_ns()
        tasks.append(asyncio.create_task(send(units, first + index, 1)))
    await asyncio.gather(*tasks)
    return sent


async def _add_number(database: TestDatabase) -> None:
    engine = create_async_engine(
        database.urls["searcher"].owner.replace("postgresql://", "postgresql+asyncpg://", 1)
    )
    async with engine.begin() as connection:
        await connection.execute(text("ALTER TABLE searcher.effects ADD number int"))
    await engine.dispose()


def _settings(environment: dict[str, str]) -> PostgresSettings:
    urls = {
        f"{role}_url": environment[f"MUSTER_POSTGRES__{role.upper()}_URL"] for role in ("tenant", "system")
    }
    return PostgresSettings.model_validate(urls)


def measure(report: Report) -> Figures:
    report.inputs(
        events=EVENTS, batch=BATCH, paced=PACED, rate_per_s=RATE, fsync="on", sync_interval="always"
    )
    servers = DurableServers()
    try:
        database = servers.new_database()
        return uvloop.run(measure_with(report, servers, database))
    finally:
        servers.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["consume"]:
        uvloop.run(consume(dict(os.environ)))
    else:
        run("delivery", measure)
