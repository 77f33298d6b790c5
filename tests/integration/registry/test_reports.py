"""Reports behind marks: every number once, whatever is repeated, missing, foreign or absurd."""

import asyncio

import pytest

from muster.errors import Rejected
from shared.messages.logs import GetLogs
from shared.messages.metrics import GetSeries, GetSummaries
from shared.messages.reports import Report, Validation
from tests.integration.registry.messages import ended, granted, report, validation
from tests.integration.registry.platform import OTHER_TENANT, Platform, Registry
from tests.integration.registry.scheduling import Run
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def test_a_batch_is_stored_once_however_often_it_is_sent(around: Platform) -> None:
    run = around.scheduler.grant()
    batch: list[Report | Validation] = [report(1, loss=0.5, accuracy=0.1), validation(1, 1, loss=0.7)]
    for _ in range(3):
        mark = await around.reports(run, 1, batch)
        assert (mark.next, mark.retry_after_s, mark.refused) == (3, None, None)
    assert await around.points(run) == 3
    assert await around.count("SELECT count(*) FROM registry.validation WHERE run = $1", run.id) == 1
    events = await around.emitted("validation.stored", run_id=run.id)
    assert [(e["number"], e["step"], e["values"], e["worker"], e["stale"]) for e in events] == [
        (1, 1, {"loss": 0.7}, "w-1", False)
    ]


async def test_a_gap_stores_nothing_and_names_the_mark(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(1, loss=1.0)])
    mark = await around.reports(run, 5, [report(5, loss=5.0)])
    assert mark.next == 2
    overlapping = await around.reports(run, 1, [report(1, loss=1.0), report(2, loss=2.0)])
    assert overlapping.next == 2
    assert await around.points(run) == 1


async def test_the_first_batch_of_an_unknown_source_must_be_the_first(around: Platform) -> None:
    run = around.scheduler.grant()
    mark = await around.reports(run, 4, [report(4, loss=1.0)])
    assert mark.next == 1
    assert await around.points(run) == 0


async def test_absurd_names_are_refused_with_the_reason_and_the_rest_is_kept(around: Platform) -> None:
    run = around.scheduler.grant()
    mark = await around.reports(
        run, 1, [report(1, "training", **{"x" * 10_000: 1.0, "loss": 2.0, "": 3.0}), report(2, loss=3.0)]
    )
    assert mark.next == 3
    assert mark.refused is not None
    assert "metric_name_long" in mark.refused
    assert "metric_name_blank" in mark.refused
    assert await around.points(run) == 2


async def test_a_million_names_end_in_a_reason_and_not_in_a_stuck_journal(around: Platform) -> None:
    run = around.scheduler.grant()
    first, refusals = 1, []
    for batch in range(12):
        names = {f"m{batch}-{number}": 1.0 for number in range(1000)}
        mark = await around.reports(run, first, [report(batch, "training", **names)])
        assert mark.next == first + 1
        first = mark.next
        refusals.append(mark.refused)
    assert refusals[:10] == [None] * 10
    assert all(refusal is not None and "series_too_many" in refusal for refusal in refusals[10:])
    too_wide = await around.reports(run, first, [validation(1, 99, **{f"v{n}": 1.0 for n in range(5000)})])
    assert too_wide.next == first + 1
    assert too_wide.refused is not None
    assert "metrics_too_many" in too_wide.refused
    assert [e["number"] for e in await around.emitted("validation.stored", run_id=run.id)] == [1]


async def test_a_worker_that_is_no_member_is_refused(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(1, loss=1.0)])
    with pytest.raises(Rejected) as refused:
        await around.reports(run, 1, [report(1, loss=9.0)], worker="w-2")
    assert refused.value.code == "not_a_member"
    assert await around.points(run) == 1


async def test_while_the_scheduler_does_not_answer_nothing_is_stored_and_the_worker_waits(
    around: Platform,
) -> None:
    run = around.scheduler.grant()
    around.scheduler.is_away = True
    mark = await around.reports(run, 1, [report(1, loss=1.0)])
    assert mark.next == 1
    assert mark.retry_after_s is not None
    around.scheduler.is_away = False
    assert (await around.reports(run, 1, [report(1, loss=1.0)])).next == 2


async def test_a_stale_run_s_points_are_kept_and_its_validations_marked(around: Platform) -> None:
    old = around.scheduler.grant()
    await around.publish("scheduler", granted(old))
    await around.reports(old, 1, [validation(1, 10, loss=1.0)])
    new = around.scheduler.grant(old)
    await around.publish("scheduler", granted(new))
    await eventually(lambda: _stale(around, old))
    mark = await around.reports(old, 2, [report(11, loss=1.1), validation(2, 20, loss=2.0)])
    assert mark.next == 4
    assert [e["stale"] for e in await around.emitted("validation.stored", run_id=old.id)] == [False, True]
    assert await around.points(old) == 3


async def test_a_lost_run_is_stale_without_a_successor(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(1, loss=1.0)])
    await around.publish("scheduler", ended(run, "lost", checkpoints=None))
    await eventually(lambda: _stale(around, run))
    await around.reports(run, 2, [validation(1, 2, loss=2.0)])
    assert [e["stale"] for e in await around.emitted("validation.stored", run_id=run.id)] == [True]


async def test_a_forced_run_s_late_data_is_stored_and_decides_nothing(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(step, loss=1.0) for step in (1, 2)])
    await around.publish("scheduler", ended(run, "preempted", forced=True))
    await eventually(lambda: _stale(around, run))
    await around.reports(run, 3, [validation(1, 3, loss=2.0)])
    assert [e["stale"] for e in await around.emitted("validation.stored", run_id=run.id)] == [True]
    successor = around.scheduler.grant(run)
    assert (await around.restore(successor)).checkpoint_id is None
    await around.reports(run, 4, [report(4, loss=3.0)])
    await around.reports(successor, 1, [report(1, loss=9.0)])
    series = (await around.ask(GetSeries(trial_id=run.trial, group="training"))).series
    assert [(p.step, p.value, p.run_number) for p in series[0].points] == [(1, 9.0, 2)]
    assert await around.points(run) == 4


async def test_an_ordinary_end_leaves_what_was_journaled_valid(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.publish("scheduler", ended(run, "completed"))
    await eventually(lambda: _ended(around, run))
    await around.reports(run, 1, [validation(1, 2, loss=2.0)])
    assert [e["stale"] for e in await around.emitted("validation.stored", run_id=run.id)] == [False]


async def test_another_tenant_sees_nothing(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(1, loss=1.0)])
    await around.lines(run, 1, ["secret"])
    assert (await around.ask(GetSeries(trial_id=run.trial), OTHER_TENANT)).series == ()
    assert (await around.ask(GetSummaries(trial_id=run.trial), OTHER_TENANT)).metrics == ()
    assert (await around.ask(GetLogs(trial_id=run.trial), OTHER_TENANT)).lines == ()


async def test_many_journals_at_once_lose_and_double_nothing(around: Platform) -> None:
    runs = [around.scheduler.grant() for _ in range(40)]

    async def journal(run: Run) -> None:
        first = 1
        while first <= 60:
            batch = [report(step, loss=float(step)) for step in range(first, first + 3)]
            first = (await around.reports(run, first, batch)).next

    await asyncio.gather(*map(journal, runs))
    for run in runs:
        assert await around.points(run) == 60


async def test_the_tenant_s_role_reads_points_through_its_policy_only(
    around: Platform, registry: Registry
) -> None:
    import asyncpg

    connection = await asyncpg.connect(around.database.urls["registry"].tenant)
    try:
        assert await connection.fetchval("SELECT count(*) FROM registry.point_chunk") == 0
        partition = await connection.fetchval(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'registry.point_chunk'::regclass LIMIT 1"
        )
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch(f"SELECT * FROM {partition}")
    finally:
        await connection.close()


async def _stale(around: Platform, run: Run) -> bool:
    return bool(await around.count("SELECT count(*) FROM registry.run WHERE id = $1 AND is_stale", run.id))


async def _ended(around: Platform, run: Run) -> bool:
    return bool(
        await around.count(
            "SELECT count(*) FROM registry.run WHERE id = $1 AND termination = 'ordinary'", run.id
        )
    )
