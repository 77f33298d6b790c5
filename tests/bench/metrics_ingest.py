"""From a worker's journal to committed rows: two hundred trials report at once for a minute, and MLflow beside them.

The load is a process with the worker's own journals and senders; bus, database, registry and load share the machine. Four of the
trials are watched: the time from the append of a burst until `summaries`, asked over the bus, counts all of its points.
Then, on the same Postgres, an MLflow server takes batches of a thousand from 1 to 16 client threads.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from shared.bus import Bus
from shared.ids import DEFAULT_TENANT, TrialId, WorkerId
from shared.messages.metrics import GetSummaries
from tests.bench.durable import DurableServers, registry_on
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.metrics_trials import POINTS, Load, SimulatedTrial
from tests.integration.registry.platform import ROOT, Platform, Registry
from tests.integration.registry.scheduling import Run
from tests.integration.servers import TestDatabase

TRIALS, WATCHED = 200, 4
WARM_UP_S = 6.0
MEASURED_S = float(os.environ.get("SECONDS_MEASURED", "60"))
LOOK_EVERY_S, SETTLED_WITHIN_S = 0.01, 60.0
MLFLOW = ROOT / ".peers-mlflow" / "bin" / "python"
MLFLOW_S = 6.0
MLFLOW_THREADS = (1, 4, 16)
KINDS = {
    "postgres": "postgres",
    "nats-server": "nats",
    "services.registry": "registry",
    "metrics_trials": "generator",
}


def measure(report: Report) -> Figures:
    """Our minute, then MLflow's seconds."""
    report.inputs(trials=TRIALS, watched=WATCHED, points_of_a_burst=POINTS, measured_s=MEASURED_S)
    servers = DurableServers()
    try:
        figures = asyncio.run(_measure(report, servers))
        return {**figures, **_mlflow(report, servers)}
    finally:
        servers.close()


async def _measure(report: Report, servers: DurableServers) -> Figures:
    async with registry_on(servers) as (around, registry):
        loaded = [around.scheduler.grant() for _ in range(TRIALS - WATCHED)]
        watched = [around.scheduler.grant(members=(WorkerId("w-2"),)) for _ in range(WATCHED)]
        begin = time.time() + WARM_UP_S
        load = _start_load(servers, loaded, begin)
        watching = asyncio.create_task(_watch(around, watched, begin))
        try:
            figures = await _minute(report, around, registry, begin)
            seen_s = await asyncio.wait_for(watching, SETTLED_WITHIN_S)
            output, _ = await asyncio.to_thread(load.communicate, timeout=SETTLED_WITHIN_S)
        finally:
            load.kill()
        played = json.loads(output.splitlines()[-1])
        report.check("refused", [], played["refused"])
        await _check_counts(report, around, played["points"], watched)
        return {
            **figures,
            "visible_p99_ms": percentile(seen_s, 0.99) * 1000,
            "visible_p50_ms": percentile(seen_s, 0.5) * 1000,
            "committed_p99_ms": played["committed_p99_ms"],
        }


def _start_load(servers: DurableServers, runs: list[Run], begin: float) -> subprocess.Popen[str]:
    load = Load(
        nats_url=servers.nats.url,
        credentials=servers.root / "w-1.creds",
        worker=WorkerId("w-1"),
        runs=tuple(run.id for run in runs),
        measured_from=begin,
        until=begin + MEASURED_S + 2,
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.metrics_trials"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(load.model_dump_json())
    process.stdin.close()
    process.stdin = None
    return process


async def _minute(report: Report, around: Platform, registry: Registry, begin: float) -> Figures:
    """The rate between two counts of committed points, and what every process used for it."""
    assert registry.child is not None
    resident = psutil.Process(registry.child.pid)
    await asyncio.sleep(max(0.0, begin - time.time()))
    before, used, began = await _stored(around), _processor_s(), time.time()
    rss = 0
    while time.time() < begin + MEASURED_S:
        await asyncio.sleep(1)
        rss = max(rss, resident.memory_info().rss)
    points, seconds = await _stored(around) - before, time.time() - began
    cores = {kind: (after - used[kind]) / seconds for kind, after in _processor_s().items()}
    report.say(
        f"{points} points in {seconds:.1f} s; cores: " + ", ".join(f"{k} {v:.2f}" for k, v in cores.items())
    )
    return {
        "points_per_s": points / seconds,
        "rss_mib": rss / 2**20,
        "generator_cores": cores.get("generator", 0.0),
        "registry_cores": cores.get("registry", 0.0),
        "postgres_cores": cores.get("postgres", 0.0),
    }


async def _watch(around: Platform, watched: list[Run], begin: float) -> list[float]:
    """Seconds from the append of each burst until a query has it."""
    bus, seen_s = around.buses["w-2"], list[float]()
    with TemporaryDirectory(prefix="muster-bench-") as folder:
        await asyncio.gather(*(_watch_one(around, bus, one, Path(folder), begin, seen_s) for one in watched))
    return seen_s


async def _watch_one(
    around: Platform, bus: Bus, watched: Run, folder: Path, begin: float, seen_s: list[float]
) -> None:
    trial = SimulatedTrial(bus, WorkerId("w-2"), watched.id, folder / str(watched.id), print)
    sender = asyncio.create_task(trial.source.run())
    sent = 0
    while (began := time.time()) < begin + MEASURED_S:
        trial.append()
        sent += POINTS
        while await _counted(around, watched.trial) < sent:
            await asyncio.sleep(LOOK_EVERY_S)
        if began >= begin:
            seen_s.append(time.time() - began)
        await asyncio.sleep(trial.journal.is_drained * 0.1)
    while not trial.journal.is_drained:
        await asyncio.sleep(LOOK_EVERY_S)
    sender.cancel()


async def _counted(around: Platform, trial: TrialId) -> int:
    found = await around.buses["gateway"].ask(GetSummaries(trial_id=trial), DEFAULT_TENANT, 10.0)
    return sum(metric.count for metric in found.metrics)


async def _stored(around: Platform) -> int:
    return await around.count("SELECT coalesce(sum(count), 0) FROM registry.series")


async def _check_counts(report: Report, around: Platform, loaded: int, watched: list[Run]) -> None:
    """Whatever was appended is there once, in the chunks as in the summaries."""
    of_watched = [await around.points(one) for one in watched]
    chunks = await around.count("SELECT sum(count) FROM registry.point_chunk")
    report.check("lost_or_doubled", 0, chunks - loaded - sum(of_watched))
    report.check("summaries_off", 0, await _stored(around) - chunks)


def _processor_s() -> dict[str, float]:
    """What the processes below this one have used, by kind."""
    used = dict.fromkeys((*KINDS.values(), "bench"), 0.0)
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            command = " ".join(process.cmdline())
            kind = next((kind for program, kind in KINDS.items() if program in command), "bench")
            times = process.cpu_times()
            used[kind] += times.user + times.system
    return used


def _mlflow(report: Report, servers: DurableServers) -> Figures:
    """The same of MLflow, from an environment of its own: 1,000 points a call, the best number of client threads."""
    if not MLFLOW.exists():
        report.say("MLflow is not installed (make peers): it is left out")
        return {"mlflow_batch_points_per_s": None}
    database: TestDatabase = servers.migrated_database()
    server = servers.postgres
    url = server.url("postgres", server.password, database.name)
    script = str(ROOT / "tests/bench/peers/mlflow_metrics.py")
    command = [str(MLFLOW), script, url, str(MLFLOW_S), *map(str, MLFLOW_THREADS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    if done.returncode:
        raise SystemExit(f"MLflow failed: {done.stderr[-1500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {f"mlflow_{name}": value for name, value in found.items()}


if __name__ == "__main__":
    run("metrics_ingest", measure)
