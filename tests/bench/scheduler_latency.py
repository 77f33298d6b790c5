"""From `trial.desired_state` to `run.granted` through the real service: the delay at 20 a second, then as many as it grants.

The scheduler is a process of its own, with traces as users have them; Postgres and JetStream sync every write. Wishes are published as a
searcher's relay does, and grants are heard as a searcher hears them: from the stream. Runs end by themselves after a short while.
"""

import asyncio
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nats
import orjson
import psutil
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from deploy.keys.permissions import ADMIN, inbox
from shared.bus import Bus, Envelope
from shared.bus.batch_publish import Outgoing, Pipeline, PublishAck
from shared.clock import SystemClock
from shared.errors import MusterError
from shared.ids import SITE, ExperimentId, TenantId, TrialId, derived_id, new_id
from shared.messages.experiments import TrialRequested
from shared.messages.pools import GetCluster
from shared.messages.queue import RequestClosed
from shared.messages.runs import RunGranted
from shared.messages.trial_specs import DesiredState, Slots, TrialSpec
from tests.bench.durable import DurableServers
from tests.bench.fleet import Fleet
from tests.bench.harness import Figures, Report, percentile, run
from tests.integration.servers import Servers, TestDatabase

MACHINES, SLOTS = 64, 8
TENANTS, EXPERIMENTS = 4, 5
WARM_UP, PACED, RATE, PACED_HOLD_S = 60, 600, 20.0, 0.5
MANY, MANY_HOLD_S = 6_000, 0.1
RELAYED = 500
"""As many as a relay publishes at once."""
TIMEOUT_S = 180.0
ROOT = Path(__file__).parents[2]
CLOCK = SystemClock()


@dataclass
class Searcher:
    """Wants trials, and hears from the stream what becomes of them; times by one clock."""

    client: Client
    wanted_at: dict[str, float] = field(default_factory=dict)
    granted_at: dict[str, float] = field(default_factory=dict)
    grants: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    async def begin(self) -> None:
        self._pipeline = Pipeline(self.client)
        for kind in (RunGranted, RequestClosed):
            config = ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL)
            await self.client.jetstream().subscribe(kind.subject("*"), config=config, cb=self._hear)

    async def want(self, first: int, count: int) -> None:
        """Publishes as many requests as one commit's relay would; raises when the stream refuses any."""
        requests = [_request(number) for number in range(first, first + count)]
        now = time.perf_counter()
        self.wanted_at |= {trial: now for trial, _ in requests}
        outcomes = await self._pipeline.publish([message for _, message in requests], TIMEOUT_S)
        assert all(isinstance(outcome, PublishAck) for outcome in outcomes), outcomes

    async def until(self, count: int) -> None:
        """Waits until so many requests have closed; gives up in the end."""
        end = time.perf_counter() + TIMEOUT_S
        while len(self.ends) < count and time.perf_counter() < end:
            await asyncio.sleep(0.05)

    async def _hear(self, message: Msg) -> None:
        trial = orjson.loads(message.data)["trial_id"]
        if message.subject.endswith(RunGranted.TYPE):
            self.granted_at.setdefault(trial, time.perf_counter())
            self.grants[trial] += 1
        else:
            self.ends[trial] += 1


def _request(number: int) -> tuple[str, Outgoing]:
    """One trial of some experiment of some tenant."""
    tenant = TenantId(derived_id(SITE, "bench", number % TENANTS))
    experiment = ExperimentId(derived_id(tenant, number // TENANTS % EXPERIMENTS))
    trial = TrialId(new_id(CLOCK))
    request = TrialRequested(
        trial_id=trial,
        experiment_id=experiment,
        version=1,
        desired_state=DesiredState.RUN,
        spec=TrialSpec(
            experiment_number=1 + number // TENANTS % EXPERIMENTS,
            trial_number=number,
            code_hash="0" * 64,
            entrypoint="python train.py",
            hyperparameters={"learning_rate": 0.01, "layers": [64, 64], "optimizer": "adam"},
            seed=number,
            metric="loss",
            slots=Slots(min=1, max=1),
        ),
    )
    trace = {"traceparent": f"00-{trial.hex}-{trial.hex[16:]}-01"}
    envelope = Envelope(
        new_id(CLOCK), request.TYPE, request.VERSION, tenant, correlation=experiment, trace=trace
    )
    return str(trial), Outgoing(request.subject(tenant), request.to_bytes(), envelope.to_headers())


@asynccontextmanager
async def _scheduler(servers: Servers, environment: dict[str, str]) -> AsyncIterator[psutil.Process]:
    folder = servers.root / "traces"
    folder.mkdir()
    variables = {
        **os.environ,
        **environment,
        "MUSTER_TELEMETRY__DIRECTORY": str(folder),
        "PYTHONPATH": str(ROOT),
    }
    with (servers.root / "scheduler.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.scheduler", env=variables, cwd=ROOT, stdout=log, stderr=log
        )
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _measure(report: Report, servers: Servers, database: TestDatabase) -> Figures:
    keys = servers.keys
    client = await nats.connect(
        servers.nats.url,
        user_credentials=str(keys.credentials(ADMIN)),
        inbox_prefix=inbox(ADMIN).encode(),
        pending_size=64 * 1024 * 1024,
    )
    async with (
        await Bus.connect(servers.nats.url, "gateway", keys.credentials("gateway")) as bus,
        _scheduler(servers, servers.environment("scheduler", database)) as process,
    ):
        await _led(bus)
        fleet, searcher = Fleet(client, MACHINES, SLOTS, PACED_HOLD_S), Searcher(client)
        await searcher.begin()
        await fleet.join(bus)
        figures = await _paced(report, searcher, process)
        fleet.hold_s = MANY_HOLD_S
        figures |= await _many(report, searcher, process)
        fleet.leave()
    await client.close()
    total = WARM_UP + PACED + MANY
    report.check("lost", 0, 2 * total - len(searcher.grants) - len(searcher.ends))
    doubled = sum(
        n - 1 for counts in (searcher.grants, searcher.ends, fleet.started) for n in counts.values()
    )
    report.check("doubled", 0, doubled)
    report.check("runs", total, len(fleet.started))
    return figures


async def _led(bus: Bus) -> None:
    end = time.perf_counter() + TIMEOUT_S
    while time.perf_counter() < end:
        try:
            await bus.ask(GetCluster(), SITE, timeout_s=1.0)
        except MusterError:
            await asyncio.sleep(0.1)
        else:
            return
    raise SystemExit("the scheduler did not begin to lead")


async def _paced(report: Report, searcher: Searcher, process: psutil.Process) -> Figures:
    """An open loop: each wish is sent at its time, whatever became of those before."""
    loop = asyncio.get_running_loop()
    start, sending = loop.time(), []
    cpu_s = 0.0
    for index in range(WARM_UP + PACED):
        await asyncio.sleep(max(0.0, start + index / RATE - loop.time()))
        if index == WARM_UP:
            cpu_s = _cpu_s(process)
        sending.append(asyncio.create_task(searcher.want(index, 1)))
    await asyncio.gather(*sending)
    await searcher.until(WARM_UP + PACED)
    cpu_s = _cpu_s(process) - cpu_s
    measured = list(searcher.wanted_at)[WARM_UP:]
    delays_ms = [
        1000 * (searcher.granted_at[trial] - searcher.wanted_at[trial])
        for trial in measured
        if trial in searcher.granted_at
    ]
    p90, p99 = percentile(delays_ms, 0.9), percentile(delays_ms, 0.99)
    report.say(
        f"at {RATE:g} a second: p90 {p90:.1f} ms, p99 {p99:.1f} ms;"
        f" {1000 * cpu_s / PACED:.1f} ms of the scheduler's processor a run; load {os.getloadavg()[0]:.1f}"
    )
    return {"grant_median_ms": statistics.median(delays_ms), "grant_p99_ms": p99}


async def _many(report: Report, searcher: Searcher, process: psutil.Process) -> Figures:
    """All wanted at once; from the first wish to the last grant, with the ends of all runs meanwhile."""
    first, cpu_s, start = WARM_UP + PACED, _cpu_s(process), time.perf_counter()
    for number in range(first, first + MANY, RELAYED):
        await searcher.want(number, min(RELAYED, first + MANY - number))
    await searcher.until(first + MANY)
    seconds = max(searcher.granted_at.values()) - start
    cpu_s = _cpu_s(process) - cpu_s
    report.say(
        f"{MANY} grants in {seconds:.1f} s; {1000 * cpu_s / MANY:.2f} ms of the scheduler's processor a run;"
        f" load {os.getloadavg()[0]:.1f}"
    )
    return {"grants_per_s": MANY / seconds}


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def measure(report: Report) -> Figures:
    report.inputs(
        machines=MACHINES, slots=SLOTS, tenants=TENANTS, experiments=TENANTS * EXPERIMENTS, gang=1,
        paced=PACED, rate_per_s=RATE, paced_hold_s=PACED_HOLD_S, many=MANY, many_hold_s=MANY_HOLD_S,
        fsync="on", sync_interval="always", traces="files",
    )  # fmt: skip
    servers = DurableServers()
    try:
        return uvloop.run(_measure(report, servers, servers.migrated_database()))
    finally:
        servers.close()


if __name__ == "__main__":
    run("scheduler_latency", measure)
