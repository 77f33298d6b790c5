"""What the stored reports are read as: series, summaries, comparisons, and the curves of earlier runs."""

import math

import pytest

from muster.errors import Rejected
from shared.messages.metrics import (
    CompareTrials,
    GetReported,
    GetReportedByTrials,
    GetSeries,
    GetSummaries,
    SeriesPage,
    TrialReportCursor,
    TrialSummaries,
)
from shared.messages.plans import GetCurves
from shared.messages.reports import Report, Validation
from tests.integration.registry.messages import ended, report, validation
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


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
    closer = GetSeries(trial_id=run.trial, names=("a",), max_points=50, first_step=100, last_step=130)
    assert [point.step for point in (await around.ask(closer)).series[0].points] == list(range(100, 131))
    summary = (await around.ask(GetSummaries(trial_id=run.trial))).metrics[0]
    assert (summary.count, summary.min, summary.max, summary.mean, summary.last) == (
        3001,
        0.0,
        3000.0,
        1500.0,
        3000.0,
    )


async def test_a_step_that_goes_back_is_kept_in_its_place(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(5, loss=5.0), report(3, loss=3.0), report(5, loss=5.5)])
    await around.reports(run, 4, [report(4, loss=4.0), report(-(2**63) + 1, loss=0.0)])
    page = await around.ask(GetSeries(trial_id=run.trial))
    assert [point.value for point in page.series[0].points] == [0.0, 3.0, 4.0, 5.0, 5.5]
    summary = (await around.ask(GetSummaries(trial_id=run.trial))).metrics[0]
    assert (summary.count, summary.last, summary.last_step) == (5, 5.5, 5)


async def test_what_a_script_reports_is_followed_from_any_place(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(5, loss=5.0, error=0.5), validation(1, 5, loss=4.5)])
    first = await around.ask(GetReported(trial_id=run.trial, limit=1))
    assert [(one.record, one.group, one.name, one.value) for one in first.points] == [
        (1, "training", "error", 0.5),
        (1, "training", "loss", 5.0),
    ]
    assert not first.is_last
    rest = await around.ask(GetReported(trial_id=run.trial, after=first.end))
    assert [(one.group, one.value) for one in rest.points] == [("validation", 4.5)] and rest.is_last
    now = await around.ask(GetReported(trial_id=run.trial, from_now=True))
    assert (now.points, now.end) == ((), rest.end)
    await around.reports(run, 3, [report(2, loss=2.0), report(6, loss=6.0)])
    back = await around.ask(GetReported(trial_id=run.trial, after=rest.end))
    assert [(one.step, one.value) for one in back.points] == [(2, 2.0), (6, 6.0)]
    successor = around.scheduler.grant(run)
    await around.reports(successor, 1, [report(7, loss=7.0)])
    new = await around.ask(GetReported(trial_id=run.trial, after=back.end))
    assert [(one.run_number, one.record, one.value) for one in new.points] == [(2, 1, 7.0)]
    assert not (await around.ask(GetReported(trial_id=run.trial, after=new.end))).points


async def test_what_several_scripts_report_is_followed_each_from_its_own_place(around: Platform) -> None:
    ahead, back, silent = (around.scheduler.grant() for _ in range(3))
    await around.reports(ahead, 1, [report(step, loss=float(step)) for step in (1, 2, 3)])
    await around.reports(back, 1, [report(5, loss=5.0)])
    first = await around.ask(GetReported(trial_id=ahead.trial, limit=2))
    second = await around.ask(GetReported(trial_id=back.trial))
    await around.reports(back, 2, [report(4, loss=4.0), report(6, loss=6.0)])
    behind = (
        TrialReportCursor(trial_id=back.trial, after=second.end),
        TrialReportCursor(trial_id=silent.trial),
        TrialReportCursor(trial_id=ahead.trial, after=first.end),
    )
    found = await around.ask(GetReportedByTrials(trials=behind))
    assert [[one.value for one in told.points] for told in found.trials] == [[4.0, 6.0], [], [3.0]]
    cut = await around.ask(GetReportedByTrials(trials=behind, limit=3))
    assert [[one.value for one in told.points] for told in cut.trials] == [[4.0], [], [3.0]]
    assert [told.is_last for told in cut.trials] == [False, True, True]
    now = await around.ask(GetReportedByTrials(trials=behind, from_now=True))
    assert [told.end for told in now.trials] == [told.end for told in found.trials]
    await around.reports(back, 4, [report(7, loss=7.0, error=0.1), validation(1, 7, loss=6.5)])
    one = {"group": "training", "names": ("error",)}
    start = await around.ask(GetReportedByTrials(trials=behind[:1], from_now=True, **one))
    assert [told.end.count for told in start.trials] == [1]
    only = await around.ask(GetReportedByTrials(trials=behind[:1], **one))
    assert [(told.name, told.value) for told in only.trials[0].points] == [("error", 0.1)]


async def test_what_many_batches_brought_is_joined_and_reads_the_same(around: Platform) -> None:
    run = around.scheduler.grant()
    values = [math.nan if step == 9 else step / 3 for step in range(70)]
    for step, value in enumerate(values):
        await around.reports(run, step + 1, [report(step, loss=value)])

    async def is_joined() -> bool:
        joined = "registry.point_chunk c JOIN registry.series s ON s.id = c.series"
        return await around.count(f"SELECT count(*) FROM {joined} WHERE s.run = $1", run.id) < 10

    await eventually(is_joined)
    page = await around.ask(GetSeries(trial_id=run.trial))
    assert repr([point.value for point in page.series[0].points]) == repr(values)
    assert await around.points(run) == 70


async def test_a_long_curve_is_drawn_from_roll_ups_up_to_a_roll_back(around: Platform) -> None:
    old = around.scheduler.grant()
    for first in range(1, 9_001, 3_000):
        batch = [report(step, loss=9.0 if step == 4_321 else 1.0) for step in range(first, first + 3_000)]
        await around.reports(old, first, batch)
    chart = GetSeries(trial_id=old.trial, max_points=20)
    drawn = (await around.ask(chart)).series[0]
    assert (drawn.count, len(drawn.points), max(point.value for point in drawn.points)) == (9_000, 20, 9.0)
    new = around.scheduler.grant(old)
    await around.restore(new)
    await around.reports(new, 1, [report(1, loss=3.0)])
    drawn = (await around.ask(chart)).series[0]
    assert [(point.step, point.value) for point in drawn.points] == [(1, 3.0)]


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
    assert await around.points(old) == 6


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
