"""Log lines behind marks: read in the order of their commits, in pages, until the trial is over."""

import asyncio
from typing import Any

import pytest

from shared.ids import WorkerId
from shared.messages.logs import GetLogs, LogPage
from tests.integration.registry.messages import finished_trial, report
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import Run
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def test_a_run_s_logs_hide_none_of_its_points(around: Platform) -> None:
    """Both sources of a run arrive together, so that one transaction stores both."""
    runs = [around.scheduler.grant() for _ in range(10)]

    async def both(run: Run) -> None:
        for first in range(1, 11):
            reports = around.reports(run, first, [report(first, loss=float(first))])
            await asyncio.gather(around.lines(run, first, [f"line {first}"]), reports)

    await asyncio.gather(*map(both, runs))
    for run in runs:
        assert await around.points(run) == 10


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


async def test_the_last_lines_are_the_last_wanted_ones(around: Platform) -> None:
    run = around.scheduler.grant()
    for first in range(1, 61):
        await around.lines(run, first, [f"line {first}"])

    async def last(tail: int, **wanted: Any) -> list[int]:
        page = await around.ask(GetLogs(trial_id=run.trial, tail=tail, **wanted))
        assert page.next == 60
        return [line.cursor for line in page.lines]

    assert await last(2, contains="line 1") == [18, 19]
    assert await last(2, pattern="1$", before=51) == [31, 41, 51]
    assert await last(100, contains="line 1") == [1, *range(10, 20)]
    assert await last(3, rank=1) == []


async def test_a_log_ends_with_its_trial(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.lines(run, 1, ["last words"])
    await around.publish("searcher", finished_trial(run))

    async def is_over() -> bool:
        return bool((await around.ask(GetLogs(trial_id=run.trial))).ended)

    await eventually(is_over)
