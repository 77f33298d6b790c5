"""How long points are kept: an experiment's own days, those of its workspace and tenant, and the site's for those that say nothing."""

from datetime import timedelta
from functools import partial

import asyncpg
import pytest

from muster.errors import Rejected
from services.registry.series.core.chunks import Columns, to_packed, to_plain
from shared.ids import DEFAULT_TENANT, TenantId, derived_id
from shared.messages.metrics import GetSeries, GetSummaries
from shared.messages.retention import GetRetention, RetentionRule, SetRetention
from tests.integration.registry.messages import report
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.support.points import arrived
from tests.support.waiting import eventually

OLD = CLOCK.now().date() - timedelta(days=20)
TENANT = TenantId(derived_id(DEFAULT_TENANT, "ruled"))
CHUNKS = 200
"""More points than are thinned together."""
POINTS = arrived((step, step, step, 5.0 if step == 777 else 1.0) for step in range(1, 3_001))


DAYS = {
    "silent": (None, None, None),
    "thinned": (None, 10, None),
    "whole": ("vision", 30, None),
    "gone": (None, None, 10),
    "ruled": ("vision", None, None),
    "bounded": ("speech", None, 30),
}
"""Workspace, and what the experiment's config says."""


async def test_points_are_thinned_and_go_by_their_experiment_s_days_and_the_rules(around: Platform) -> None:
    runs = {name: around.scheduler.grant() for name in DAYS}
    elsewhere = around.scheduler.grant(tenant=OTHER_TENANT)
    settings = {"MUSTER_REGISTRY__DETAIL_POINTS_DAYS": "15", "MUSTER_REGISTRY__RETAIN_EVERY_S": "0.2"}
    async with around.registry():
        for run in (*runs.values(), elsewhere):
            await around.reports(run, 1, [report(3_001, loss=2.0)])
        await around.ask(SetRetention(rule=RetentionRule(workspace="vision", metric_detail_days=12)))
        await around.ask(SetRetention(rule=RetentionRule(workspace="speech", metric_retention_days=12)))
    server = around.servers.postgres
    connection = await asyncpg.connect(server.url("postgres", server.password, around.database.name))
    await around.make_day("point_chunk", OLD)
    for name, run in runs.items():
        await _store_old(connection, run, *DAYS[name])
    await _store_old(connection, elsewhere, "speech", 30, None)
    await connection.close()
    async with around.registry(**settings):
        for name, most in (("gone", 1), ("bounded", 1), ("thinned", 257), ("silent", 257), ("ruled", 257)):
            await eventually(partial(_has_few, around, runs[name], most))
        assert await around.points(runs["whole"]) == await around.points(elsewhere) == 3_001
        chart = (await around.ask(GetSeries(trial_id=runs["thinned"].trial))).series[0]
        assert max(point.value for point in chart.points) == 5.0
        summary = (await around.ask(GetSummaries(trial_id=runs["gone"].trial))).metrics[0]
        assert (summary.count, summary.max) == (3_001, 5.0)


async def test_a_rule_takes_the_place_of_the_one_before_and_is_its_tenant_s_alone(around: Platform) -> None:
    async with around.registry():
        whole = RetentionRule(metric_detail_days=30, metric_retention_days=90)
        await around.ask(SetRetention(rule=RetentionRule(metric_detail_days=7)), TENANT)
        of_one = RetentionRule(workspace="a'; DROP TABLE registry.retention; --", metric_detail_days=1)
        await around.ask(SetRetention(rule=of_one), TENANT)
        assert (await around.ask(SetRetention(rule=whole), TENANT)).rules == (whole, of_one)
        assert (await around.ask(GetRetention(), OTHER_TENANT)).rules == ()
        await around.ask(SetRetention(rule=RetentionRule(workspace=of_one.workspace)), TENANT)
        assert (await around.ask(GetRetention(), TENANT)).rules == (whole,)
        await around.rows(
            "INSERT INTO registry.retention (tenant, workspace, metric_detail_days) SELECT $1, 'w' || n, 1 FROM generate_series(1, 999) n",
            TENANT,
        )
        with pytest.raises(Rejected, match="at most 1000 retention rules"):
            await around.ask(SetRetention(rule=RetentionRule(workspace="w0", metric_detail_days=1)), TENANT)
        assert len((await around.ask(GetRetention(), TENANT)).rules) == 1_000


async def test_a_day_of_very_many_points_is_thinned_in_pieces(around: Platform) -> None:
    run = around.scheduler.grant()
    chunk = Columns.of(POINTS)
    day = OLD - timedelta(days=1)
    async with around.registry():
        await around.reports(run, 1, [report(3_001, loss=2.0)])
    server = around.servers.postgres
    connection = await asyncpg.connect(server.url("postgres", server.password, around.database.name))
    await around.make_day("point_chunk", day)
    await connection.execute(
        "INSERT INTO registry.point_chunk (day, tenant, series, count, first_step, last_step, body)"
        " SELECT $2, tenant, id, $3, $4, $5, $6 FROM registry.series, generate_series(1, $7) WHERE run = $1",
        *(run.id, day, len(chunk), *chunk.span, to_packed(chunk), CHUNKS),
    )
    await connection.execute("UPDATE registry.run SET first_day = $2 WHERE id = $1", run.id, day)
    await connection.close()
    settings = {"MUSTER_REGISTRY__DETAIL_POINTS_DAYS": "15", "MUSTER_REGISTRY__RETAIN_EVERY_S": "0.2"}
    whole = "SELECT count(*) FROM registry.point_chunk WHERE day = $1 AND NOT is_thinned"
    async with around.registry(**settings):

        async def is_thinned() -> bool:
            return await around.count(whole, day) == 0

        await eventually(is_thinned)
        assert 512 < await around.points(run) <= CHUNKS * len(chunk) / 16
        chart = (await around.ask(GetSeries(trial_id=run.trial))).series[0]
        assert max(point.value for point in chart.points) == 5.0


async def _has_few(around: Platform, run: Run, most: int) -> bool:
    return await around.points(run) <= most


async def _store_old(
    connection: asyncpg.Connection,
    run: Run,
    workspace: str | None,
    detail_days: int | None,
    retention_days: int | None,
) -> None:
    """What the run would have reported twenty days ago, its experiment's workspace, and what that one's config says."""
    await connection.execute(
        "INSERT INTO registry.experiment (id, tenant, workspace, metric_detail_days, metric_retention_days)"
        " VALUES ($1, $2, $3, $4, $5)",
        run.experiment,
        run.tenant,
        workspace,
        detail_days,
        retention_days,
    )
    series = await connection.fetchval(
        "UPDATE registry.series SET count = count + 3000, greatest = 5, first_step = 1 WHERE run = $1 RETURNING id",
        run.id,
    )
    points = Columns.of(POINTS)
    await connection.execute(
        "INSERT INTO registry.point_chunk (day, tenant, series, count, first_step, last_step, body)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        OLD,
        run.tenant,
        series,
        len(points),
        *points.span,
        to_plain(POINTS),
    )
    await connection.execute("UPDATE registry.run SET first_day = $2 WHERE id = $1", run.id, OLD)
