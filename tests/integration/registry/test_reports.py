"""Reports behind marks: every number once, whatever is repeated, missing, foreign or absurd."""

import asyncio
import math

import pytest

from muster.errors import Rejected
from shared.ids import DEFAULT_TENANT, TenantId, WorkerId, derived_id
from shared.messages.logs import GetLogs, LogPage
from shared.messages.metrics import CompareTrials, GetSeries, GetSummaries, SeriesPage, TrialSummaries
from shared.messages.plans import GetCurves
from shared.messages.reports import Report, Validation
from tests.integration.registry.platform import (
    Platform,
    Registry,
    Run,
    ended,
    finished_trial,
    granted,
    report,
    validation,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")
OTHER_TENANT = TenantId(derived_id(DEFAULT_TENANT, "other"))


async def points(around: Platform, run: Run) -> int:
    return await around.count(
        "SELECT count(*) FROM registry.points p JOIN registry.series s ON s.id = p.series WHERE s.run = $1",
        run.id,
    )


async def test_a_batch_is_stored_once_however_often_it_is_sent(around: Platform) -> None:
    run = around.scheduler.grant()
    batch: list[Report | Validation] = [report(1, loss=0.5, accuracy=0.1), validation(1, 1, loss=0.7)]
    for _ in range(3):
        mark = await around.reports(run, 1, batch)
        assert (mark.next, mark.retry_after_s, mark.refused) == (3, None, None)
    assert await points(around, run) == 3
    assert await around.count("SELECT count(*) FROM registry.validations WHERE run = $1", run.id) == 1
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
    assert await points(around, run) == 1


async def test_the_first_batch_of_an_unknown_source_must_be_the_first(around: Platform) -> None:
    run = around.scheduler.grant()
    mark = await around.reports(run, 4, [report(4, loss=1.0)])
    assert mark.next == 1
    assert await points(around, run) == 0


async def test_not_a_number_is_kept_as_such(around: Platform) -> None:
    run = around.scheduler.grant()
    values = [1.0, math.nan, math.inf, -math.inf, -0.0, 1e308]
    await around.reports(run, 1, [validation(n + 1, n, loss=value) for n, value in enumerate(values)])
    page = await around.ask(GetSeries(trial_id=run.trial))
    assert isinstance(page, SeriesPage)
    assert [repr(point.value) for point in page.series[0].points] == [repr(value) for value in values]
    summaries = await around.ask(GetSummaries(trial_id=run.trial))
    assert isinstance(summaries, TrialSummaries)
    assert (summaries.metrics[0].count, summaries.metrics[0].min, summaries.metrics[0].max) == (
        6,
        -0.0,
        1e308,
    )
    stored = await around.emitted("validation.stored", run_id=run.id)
    assert [event["values"]["loss"] for event in stored] == [1.0, "NaN", "Infinity", "-Infinity", -0.0, 1e308]


async def test_large_batches_go_by_copy_and_read_the_same(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(step, a=step, b=-step) for step in range(3000)])
    await around.reports(run, 3001, [report(3000, a=3000.0, b=-3000.0)])
    page = await around.ask(GetSeries(trial_id=run.trial, names=("a",), max_points=None))
    assert [(point.step, point.value) for point in page.series[0].points] == [
        (s, float(s)) for s in range(3001)
    ]
    thinned = await around.ask(GetSeries(trial_id=run.trial, max_points=50))
    assert [(s.name, s.count, len(s.points)) for s in thinned.series] == [("a", 3001, 50), ("b", 3001, 50)]
    summary = (await around.ask(GetSummaries(trial_id=run.trial))).metrics[0]
    assert (summary.count, summary.min, summary.max, summary.mean, summary.last) == (
        3001,
        0.0,
        3000.0,
        1500.0,
        3000.0,
    )


async def test_absurd_names_are_refused_with_the_reason_and_the_rest_is_kept(around: Platform) -> None:
    run = around.scheduler.grant()
    mark = await around.reports(
        run, 1, [report(1, "training", **{"x" * 10_000: 1.0, "loss": 2.0, "": 3.0}), report(2, loss=3.0)]
    )
    assert mark.next == 3
    assert mark.refused is not None
    assert "metric_name_long" in mark.refused
    assert "metric_name_blank" in mark.refused
    assert await points(around, run) == 2


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
    assert await points(around, run) == 1


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
    assert await points(around, old) == 3


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
    assert await points(around, run) == 4


async def test_an_ordinary_end_leaves_what_was_journaled_valid(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.publish("scheduler", ended(run, "completed"))
    await eventually(lambda: _ended(around, run))
    await around.reports(run, 1, [validation(1, 2, loss=2.0)])
    assert [e["stale"] for e in await around.emitted("validation.stored", run_id=run.id)] == [False]


async def test_after_a_roll_back_older_points_beyond_it_do_not_count(around: Platform) -> None:
    old = around.scheduler.grant()
    await around.reports(old, 1, [report(step, loss=100.0 + step) for step in range(1, 6)])
    new = around.scheduler.grant(old)
    assert (await around.restore(new)).checkpoint_id is None
    await around.reports(new, 1, [report(step, loss=float(step)) for step in range(1, 4)])
    await around.reports(old, 6, [report(6, loss=106.0)])
    page = await around.ask(GetSeries(trial_id=old.trial))
    assert [(p.step, p.value, p.run_number) for p in page.series[0].points] == [
        (1, 1.0, 2),
        (2, 2.0, 2),
        (3, 3.0, 2),
    ]
    summary = (await around.ask(GetSummaries(trial_id=old.trial))).metrics[0]
    assert (summary.count, summary.max, summary.last, summary.last_step) == (3, 3.0, 3.0, 3)
    assert await points(around, old) == 6


async def test_trials_are_compared_side_by_side(around: Platform) -> None:
    runs = [around.scheduler.grant() for _ in range(3)]
    for number, run in enumerate(runs):
        await around.reports(run, 1, [report(step, loss=float(number), other=9.0) for step in range(40)])
    pages = await around.ask(
        CompareTrials(trials=tuple(run.trial for run in runs), names=("loss",), max_points=10)
    )
    assert [(page.trial_id, len(page.series), len(page.series[0].points)) for page in pages.trials] == [
        (run.trial, 1, 10) for run in runs
    ]


async def test_an_answer_that_would_not_fit_says_how_to_ask(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(step, a=1.0, b=2.0, c=3.0) for step in range(3000)])
    with pytest.raises(Rejected) as refused:
        await around.ask(GetSeries(trial_id=run.trial, max_points=None))
    assert refused.value.code == "answer_too_large"
    assert "max_points" in (refused.value.hint or "")


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
            sent = [around.reports(run, first, batch)] * 1
            first = (await asyncio.gather(*sent))[0].next

    await asyncio.gather(*map(journal, runs))
    for run in runs:
        assert await points(around, run) == 60


async def test_a_run_s_logs_hide_none_of_its_points(around: Platform) -> None:
    """Both sources of a run arrive together, so that one transaction stores both."""
    runs = [around.scheduler.grant() for _ in range(10)]

    async def both(run: Run) -> None:
        for first in range(1, 11):
            reports = around.reports(run, first, [report(first, loss=float(first))])
            await asyncio.gather(around.lines(run, first, [f"line {first}"]), reports)

    await asyncio.gather(*map(both, runs))
    for run in runs:
        assert await points(around, run) == 10


async def test_log_lines_are_numbered_in_the_order_of_their_commits(around: Platform) -> None:
    run = around.scheduler.grant(members=(WorkerId("w-1"), WorkerId("w-2")))
    for first in (1, 1, 3):
        await around.lines(run, first, [f"one {first}", f"one {first + 1}"])
    await around.lines(run, 1, ["two 1"], worker="w-2")
    page = await around.ask(GetLogs(trial_id=run.trial))
    assert isinstance(page, LogPage)
    assert [(line.cursor, line.text) for line in page.lines] == [
        (1, "one 1"),
        (2, "one 2"),
        (3, "one 3"),
        (4, "one 4"),
        (5, "two 1"),
    ]
    assert (page.next, page.ended) == (5, False)
    following = await around.ask(GetLogs(trial_id=run.trial, after=2, limit=2))
    assert [line.cursor for line in following.lines] == [3, 4]
    assert (await around.ask(GetLogs(trial_id=run.trial, stream="platform"))).lines == ()
    matching = await around.ask(GetLogs(trial_id=run.trial, stream="stdout", contains="two"))
    assert ([line.cursor for line in matching.lines], matching.next) == ([5], 5)
    tail = await around.ask(GetLogs(trial_id=run.trial, tail=1))
    assert [line.text for line in tail.lines] == ["two 1"]


async def test_a_page_is_full_unless_the_log_is_at_its_end(around: Platform) -> None:
    run = around.scheduler.grant()
    for first in range(1, 61):
        await around.lines(run, first, [f"line {first}"])
    page = await around.ask(GetLogs(trial_id=run.trial, limit=40))
    assert (len(page.lines), page.next) == (40, 40)
    matching = await around.ask(GetLogs(trial_id=run.trial, limit=2, contains="0"))
    assert [line.text for line in matching.lines] == ["line 10", "line 20"]
    rest = await around.ask(GetLogs(trial_id=run.trial, limit=40, after=matching.next, contains="0"))
    assert ([line.cursor for line in rest.lines], rest.next) == ([30, 40, 50, 60], 60)


async def test_a_log_ends_with_its_trial(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.lines(run, 1, ["last words"])
    await around.publish("searcher", finished_trial(run))

    async def is_over() -> bool:
        return bool((await around.ask(GetLogs(trial_id=run.trial))).ended)

    await eventually(is_over)


async def test_the_tenant_s_role_reads_points_through_its_policy_only(
    around: Platform, registry: Registry
) -> None:
    import asyncpg

    connection = await asyncpg.connect(around.database.urls["registry"].tenant)
    try:
        assert await connection.fetchval("SELECT count(*) FROM registry.points") == 0
        partition = await connection.fetchval(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'registry.points'::regclass LIMIT 1"
        )
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch(f"SELECT * FROM {partition}")
    finally:
        await connection.close()


async def _stale(around: Platform, run: Run) -> bool:
    return bool(await around.count("SELECT count(*) FROM registry.runs WHERE id = $1 AND is_stale", run.id))


async def _ended(around: Platform, run: Run) -> bool:
    return bool(
        await around.count("SELECT count(*) FROM registry.runs WHERE id = $1 AND ending = 'ordinary'", run.id)
    )


async def test_runs_of_a_code_are_told_with_their_times_and_validations(around: Platform) -> None:
    code = "c" * 64
    runs = [around.scheduler.grant(code_hash=code), around.scheduler.grant(code_hash=code)]
    silent, other = around.scheduler.grant(code_hash=code), around.scheduler.grant(code_hash="d" * 64)
    for run in (*runs, other):
        batch: list[Report | Validation] = [
            validation(1, 10, loss=0.5, epochs=1.0),
            validation(2, 20, loss=math.nan, epochs=2.0),
            validation(3, 30, accuracy=0.5),
        ]
        await around.reports(run, 1, batch)
    for run in (runs[0], silent, other, runs[1]):
        await around.publish(
            "scheduler", ended(run, "stopped", ago_s=60.0 if run is runs[0] else 0.0), run.tenant
        )
    question = GetCurves(code_hash=code, metric="loss", time_metric="epochs")

    async def are_told() -> bool:
        return len((await around.ask(question)).runs) == 2

    await eventually(are_told)
    found = (await around.ask(question)).runs
    assert [one.trial_id for one in found] == [run.trial for run in runs], "oldest first"
    first = found[0]
    assert (first.times, first.at_ms, first.outcome, first.slots) == (
        (1.0, 2.0),
        (1010, 1020),
        "stopped",
        1.0,
    )
    assert first.values[0] == 0.5 and math.isnan(first.values[1])
    by_step = (await around.ask(GetCurves(code_hash=code, metric="loss"))).runs[0]
    assert by_step.times == (10.0, 20.0, 30.0) and math.isnan(by_step.values[2])
    assert (await around.ask(question, OTHER_TENANT)).runs == ()
