"""Metrics of ten thousand trials read back through the registry's own queries, as a chart and a page ask for them.

20 million points (100 million with `FULL=1`) are stored first, straight into the tables. A curve is one metric of 50 trials,
drawn at random, of 100 points each, asked for over the bus. The best are the first 100 of all 10,000 trials by a metric drawn at
random; the table's first page has 50 of the trials that meet a filter over a metric, a hyperparameter and the state, sorted by
another, with all hyperparameters and the search's metric.
"""

import asyncio
import gc
import os
import random
from collections.abc import Awaitable, Callable
from time import perf_counter

import asyncpg
import psutil

from shared.bus import Bus
from shared.ids import ExperimentId, TrialId
from shared.messages.metrics import CompareTrials, SeriesPages
from shared.messages.trial_tables import GetTable, TablePage
from tests.bench.durable import DurableServers
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.metrics_site import Site, fill
from tests.integration.registry.platform import Registry
from tests.integration.servers import TestDatabase

TRIALS = 10_000
POINTS = 100_000_000 if os.environ.get("FULL") else 20_000_000
CHARTED = 50
CHART_POINTS = 100
BEST = 100
ROWS = 50
SORTS = (
    "best",
    "-metrics.validation.accuracy.max",
    "metrics.training.loss.last",
    "-metrics.training.accuracy.mean",
)
ASKED = 100
WARM_UP = 5
TIMEOUT_S = 20.0


def measure(report: Report) -> Figures:
    """Fill a site, then ask."""
    report.inputs(
        trials=TRIALS,
        points=POINTS,
        trials_of_a_chart=CHARTED,
        points_of_a_curve=CHART_POINTS,
        best=BEST,
        rows=ROWS,
        asked=ASKED,
    )
    return asyncio.run(_measure(report))


async def _measure(report: Report) -> Figures:
    servers = DurableServers()
    try:
        database = servers.migrated_database()
        registry = Registry(servers.environment("registry", database))
        await registry.start()
        try:
            site, filled = await _filled(report, servers, database)
            # What the filling has left is not searched for garbage by the client while an answer is timed.
            gc.collect()
            gc.freeze()
            gc.set_threshold(100_000)
            gateway = servers.keys.credentials("gateway")
            async with await Bus.connect(servers.nats.url, "gateway", gateway) as bus:
                figures = await _asked(report, bus, site)
            assert registry.child is not None
            rss = psutil.Process(registry.child.pid).memory_info().rss
            return {**figures, **filled, "rss_mib": rss / 2**20}
        finally:
            await registry.stop()
    finally:
        servers.close()


async def _filled(report: Report, servers: DurableServers, database: TestDatabase) -> tuple[Site, Figures]:
    server = servers.postgres
    connection = await asyncpg.connect(server.url("postgres", server.password, database.name))
    try:
        began = perf_counter()
        site = await fill(connection, TRIALS, POINTS)
        size = await connection.fetchval(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'registry.point_chunk'::regclass"
        )
        report.say(
            f"stored {site.points} points of {len(site.trials)} trials in {perf_counter() - began:.0f} s"
        )
        return site, {"bytes_per_point": float(size) / site.points}
    finally:
        await connection.close()


async def _asked(report: Report, bus: Bus, site: Site) -> Figures:
    """The p95 of every question, in milliseconds, as who asks on the bus sees it."""
    generator = random.Random(1)

    async def curve() -> None:
        trials = tuple(map(TrialId, generator.sample(site.trials, CHARTED)))
        query = CompareTrials(trials=trials, group="training", names=("loss",), max_points=CHART_POINTS)
        answer = await bus.ask(query, site.tenant, TIMEOUT_S)
        _check_chart(report, answer)

    async def best() -> None:
        sort = generator.choice(SORTS)
        query = GetTable(
            experiment_id=ExperimentId(site.experiment),
            sort=sort,
            columns=("number", sort.lstrip("-")),
            limit=BEST,
        )
        _check_table(report, await bus.ask(query, site.tenant, TIMEOUT_S), BEST)

    async def table() -> None:
        least = f"metrics.validation.accuracy.max > {generator.uniform(0.1, 0.5):.3f}"
        filter_ = f"{least} and hparams.lr < {generator.uniform(0.01, 0.1):.3f} and state = completed"
        sort = generator.choice((*SORTS, "hparams.lr", "-hparams.dropout, hparams.width"))
        query = GetTable(experiment_id=ExperimentId(site.experiment), filter=filter_, sort=sort, limit=ROWS)
        _check_table(report, await bus.ask(query, site.tenant, TIMEOUT_S), ROWS)

    return {
        "curve_p95_ms": await _p95_ms(curve),
        "best_p95_ms": await _p95_ms(best),
        "table_p95_ms": await _p95_ms(table),
    }


def _check_chart(report: Report, answer: SeriesPages) -> None:
    drawn = [(len(page.series), len(series.points)) for page in answer.trials for series in page.series]
    if drawn != [(1, CHART_POINTS)] * CHARTED:
        report.check("chart", f"{CHARTED} curves of {CHART_POINTS} points", str(drawn))


def _check_table(report: Report, page: TablePage, rows: int) -> None:
    if len(page.rows) != rows or any(cell is None for row in page.rows for cell in row.cells):
        report.check("table", f"{rows} rows without a gap", str([row.cells for row in page.rows])[:1000])


async def _p95_ms(question: Callable[[], Awaitable[None]]) -> float:
    took = []
    for _ in range(WARM_UP + ASKED):
        began = perf_counter()
        await question()
        took.append((perf_counter() - began) * 1000)
    return percentile(took[WARM_UP:], 0.95)


if __name__ == "__main__":
    run("metrics_query", measure)
