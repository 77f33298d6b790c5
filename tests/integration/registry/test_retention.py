"""How long points are kept: an experiment's own days, and the site's for those that say nothing."""

from datetime import date, timedelta
from functools import partial

import asyncpg

from services.registry.core.chunks import Columns, to_plain
from shared.ids import DEFAULT_TENANT
from shared.messages.metrics import GetSeries, GetSummaries
from shared.partitions import partition_name
from tests.integration.registry.messages import report
from tests.integration.registry.platform import CLOCK, Platform, Run
from tests.support.waiting import eventually

OLD = CLOCK.now().date() - timedelta(days=20)
POINTS = [(step, step, step, 5.0 if step == 777 else 1.0) for step in range(1, 3_001)]


async def test_points_are_thinned_and_go_by_their_experiment_s_days(around: Platform) -> None:
    runs = {name: around.scheduler.grant() for name in ("silent", "thinned", "whole", "gone")}
    days = {"thinned": (10, None), "whole": (30, None), "gone": (None, 10)}
    settings = {"MUSTER_REGISTRY__DETAIL_POINTS_DAYS": "15", "MUSTER_REGISTRY__RETAIN_EVERY_S": "0.2"}
    async with around.registry():
        for run in runs.values():
            await around.reports(run, 1, [report(3_001, loss=2.0)])
    server = around.servers.postgres
    connection = await asyncpg.connect(server.url("postgres", server.password, around.database.name))
    await _make_day(connection, OLD)
    for name, run in runs.items():
        await _store_old(connection, run, *days.get(name, (None, None)))
    await connection.close()
    async with around.registry(**settings):
        for name, most in (("gone", 1), ("thinned", 257), ("silent", 257)):
            await eventually(partial(_has_few, around, runs[name], most))
        assert await around.points(runs["whole"]) == 3_001
        chart = (await around.ask(GetSeries(trial_id=runs["thinned"].trial))).series[0]
        assert max(point.value for point in chart.points) == 5.0
        summary = (await around.ask(GetSummaries(trial_id=runs["gone"].trial))).metrics[0]
        assert (summary.count, summary.max) == (3_001, 5.0)


async def _has_few(around: Platform, run: Run, most: int) -> bool:
    return await around.points(run) <= most


async def _make_day(connection: asyncpg.Connection, day: date) -> None:
    await connection.execute(
        f"CREATE TABLE registry.{partition_name('point_chunks', day)} PARTITION OF registry.point_chunks"
        f" FOR VALUES FROM ('{day}') TO (date '{day}' + 1)"
    )


async def _store_old(
    connection: asyncpg.Connection, run: Run, detail_days: int | None, retention_days: int | None
) -> None:
    """What the run would have reported twenty days ago, and what its experiment's config says."""
    await connection.execute(
        "INSERT INTO registry.experiments (id, tenant, metric_detail_days, metric_retention_days) VALUES ($1, $2, $3, $4)",
        run.experiment,
        DEFAULT_TENANT,
        detail_days,
        retention_days,
    )
    series = await connection.fetchval(
        "UPDATE registry.series SET count = count + 3000, greatest = 5, first_step = 1 WHERE run = $1 RETURNING id",
        run.id,
    )
    points = Columns.of(POINTS)
    await connection.execute(
        "INSERT INTO registry.point_chunks (day, tenant, series, count, first_step, last_step, body)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        OLD,
        DEFAULT_TENANT,
        series,
        len(points),
        *points.span,
        to_plain(POINTS),
    )
    await connection.execute("UPDATE registry.runs SET first_day = $2 WHERE id = $1", run.id, OLD)
