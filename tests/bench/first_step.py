"""From the REST request to the first report committed in the registry: one rank, code already known, workers warm."""

import asyncio
import json
import time
from uuid import UUID

import asyncpg

from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run

NUMBER = 30
LOOK_S, TIMEOUT_S = 0.002, 60.0
CONFIG = {
    "name": "first-step",
    "entrypoint": "python3 first.py",
    "searcher": {"name": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 0,
}
COMMITTED = (
    "SELECT 1 FROM registry.series s JOIN registry.trial t ON t.id = s.trial WHERE t.experiment = $1 LIMIT 1"
)


def measure(report: Report) -> Figures:
    report.inputs(experiments=NUMBER, ranks=1, workers=2, look_every_s=LOOK_S)
    with platform(workers=2) as bench:
        times_ms = asyncio.run(_measure_with(report, bench))
    report.check("lost", 0, NUMBER - len(times_ms))
    return {
        "median_ms": percentile(times_ms, 0.5),
        "p90_ms": percentile(times_ms, 0.9),
        "least_ms": min(times_ms),
    }


async def _measure_with(report: Report, bench: Platform) -> list[float]:
    code = await asyncio.to_thread(bench.client.experiments.put_code, TRIALS)
    connection = await asyncpg.connect(bench.database_url)
    times_ms: list[float] = []
    try:
        for index in range(NUMBER + 2):
            began = time.monotonic()
            made = await asyncio.to_thread(
                bench.client.experiments.create, json.loads(json.dumps(CONFIG)), code
            )
            if await _committed(connection, made.id) and index >= 2:  # the first ones fill caches
                times_ms.append((time.monotonic() - began) * 1000)
            await _ended(bench, made.id)
    finally:
        await connection.close()
    return times_ms


async def _committed(connection: asyncpg.Connection, experiment: UUID) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if await connection.fetchval(COMMITTED, experiment):
            return True
        await asyncio.sleep(LOOK_S)
    return False


async def _ended(bench: Platform, experiment: UUID) -> None:
    await asyncio.to_thread(bench.until_completed, experiment, 0.05, TIMEOUT_S)
    await asyncio.sleep(0.3)


if __name__ == "__main__":
    run("first_step", measure)
