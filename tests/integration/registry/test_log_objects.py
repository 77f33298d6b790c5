"""Old log lines in the object store: each line read once and in order, found wherever it lies, gone when it is old enough."""

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from shared.ids import TrialId
from shared.messages.logs import FoundLine, FoundLines, GetLogs, LogPage, SearchLogs, StoredLine
from shared.messages.retention import RetentionRule, SetRetention
from shared.objects.s3 import S3Objects
from shared.settings import S3Settings
from tests.integration.registry.messages import finished_trial, submitted
from tests.integration.registry.platform import OTHER_TENANT, Platform, Registry
from tests.integration.registry.scheduling import CLOCK, Run
from tests.support.waiting import eventually

KEPT = "SELECT count(*) FROM registry.log_object WHERE state = 'stored' AND trial = $1"
CHUNKS = "SELECT coalesce(sum(lines), 0) FROM registry.log_chunk WHERE trial = $1"
QUICK = {
    "MUSTER_REGISTRY__LOG_OBJECT_BYTES": "2000",
    "MUSTER_REGISTRY__LOG_REMAINDER_BYTES": "1",
    "MUSTER_REGISTRY__LOG_REMAINDER_AFTER_S": "0",
    "MUSTER_REGISTRY__LOG_PACK_EVERY_S": "0.1",
    "MUSTER_REGISTRY__RETAIN_EVERY_S": "0.2",
    "MUSTER_REGISTRY__UNUSED_EVERY_S": "0.2",
}


@pytest.fixture(scope="module")
async def packing(around: Platform) -> AsyncIterator[Registry]:
    """A replica that packs a trial's lines early."""
    async with around.registry(**QUICK) as running:
        yield running


async def test_packed_lines_are_read_once_and_in_order(around: Platform, packing: Registry) -> None:
    run = await written(around, 300)
    await eventually(lambda: is_packed(around, run))
    await around.lines(run, 301, ["the newest"])
    seen = await read_all_lines(around, run)
    assert [line.cursor for line in seen] == list(range(1, 302))
    assert [line.text for line in seen] == [text(number) for number in range(1, 301)] + ["the newest"]
    assert (seen[7].level, seen[7].rank, seen[7].run_number) == ("warning", 1, 1)


async def test_lines_are_found_wherever_they_lie(around: Platform, packing: Registry) -> None:
    run = await written(around, 2_500)
    await eventually(lambda: is_packed(around, run))
    await around.lines(run, 2_501, ["step 7 again"])
    found = await search(around, run, contains="step 7 ")
    assert [line.cursor for line in found] == [7, 2_501]
    assert [line.cursor for line in await search(around, run, pattern=r"^step 2\d9 ")] == list(
        range(209, 300, 10)
    )
    assert [line.cursor for line in await search(around, run, contains="step", level="warning", rank=1)] == [
        8
    ]
    assert await search(around, run, contains="step 7 ", until_ms=1) == []
    paged = await around.ask(GetLogs(trial_id=run.trial, pattern="step .99 ", limit=2))
    assert [line.cursor for line in paged.lines] == [199, 299]
    rest = await around.ask(GetLogs(trial_id=run.trial, pattern="step .99 ", after=paged.next))
    assert [line.cursor for line in rest.lines] == list(range(399, 1_000, 100))
    for tail, cursors in ((1, [2_501]), (2, [7, 2_501])):
        last = await around.ask(GetLogs(trial_id=run.trial, contains="step 7 ", tail=tail))
        assert [line.cursor for line in last.lines] == cursors


async def test_a_search_over_experiments_goes_on_where_it_stopped(
    around: Platform, packing: Registry
) -> None:
    older, newer = await written(around, 100), await written(around, 100)
    await eventually(lambda: is_packed(around, older))
    ids = (older.experiment, newer.experiment)
    first = await around.ask(SearchLogs(experiments=ids, contains="step 5", limit=8))
    assert isinstance(first, FoundLines)
    assert first.next is not None
    rest = await around.ask(SearchLogs(experiments=ids, contains="step 5", limit=100, after=first.next))
    found = [(line.trial_id, line.cursor) for line in (*first.lines, *rest.lines)]
    numbers = [5, *range(50, 60)]
    assert found == [(run.trial, number) for run in (newer, older) for number in numbers]
    assert rest.next is None
    assert (await around.ask(SearchLogs(experiments=ids), OTHER_TENANT)).lines == ()


async def test_a_pattern_that_could_explode_is_refused(around: Platform, packing: Registry) -> None:
    for pattern, code in (("(a{50}){50}", "pattern_too_large"), ("(?=a)", "pattern_invalid")):
        with pytest.raises(Exception, match="pattern") as refused:
            await around.ask(SearchLogs(pattern=pattern))
        assert getattr(refused.value, "code", None) == code


async def test_old_lines_go_with_their_objects(around: Platform, packing: Registry) -> None:
    run = await written(around, 100, time_ms=1)
    await eventually(lambda: is_packed(around, run))
    young = await written(around, 100, time_ms=int(CLOCK.now().timestamp() * 1000))
    await eventually(lambda: is_packed(around, young))
    store = S3Objects.of(_s3(around.environment), CLOCK)
    prefix = f"tenants/{run.tenant}/logs/{run.trial}/"
    try:
        assert [one async for one in store.list(prefix)]
        async with around.registry(**QUICK, MUSTER_REGISTRY__KEEP_LOGS_DAYS="1"):
            await eventually(lambda: are_gone(around, run))
        assert [one async for one in store.list(prefix)] == []
    finally:
        await store.close()
    assert await read_all_lines(around, run) == []
    assert len(await read_all_lines(around, young)) == 100


async def test_lines_go_by_what_experiment_workspace_and_tenant_say(
    around: Platform, packing: Registry
) -> None:
    ten_days_ago = CLOCK.now() - timedelta(days=10)
    old: dict[str, Any] = {"time_ms": int(ten_days_ago.timestamp() * 1000)}
    kept, ruled, own = [await written(around, 100, **old) for _ in range(3)]
    going = around.scheduler.grant()
    await around.lines(going, 1, ["in a chunk still"], **old)
    elsewhere = await written(around, 100, **old)
    for run in (kept, ruled, own, elsewhere):
        await eventually(partial(is_packed, around, run))
    await around.make_day("log_chunk", ten_days_ago.date())
    await around.rows(
        "UPDATE registry.log_chunk SET day = $2 WHERE trial = $1", going.trial, ten_days_ago.date()
    )
    for run, workspace, days in (
        (kept, "vision", 30),
        (ruled, "speech", 30),
        (own, "vision", 9),
        (going, "speech", -1),
    ):
        policy = {"log_retention_days": days}
        await around.publish("gateway", submitted(run, workspace, retention_policy=policy))
    await eventually(lambda: are_gone(around, own))
    assert await read_all_lines(around, own) == []
    assert [len(await read_all_lines(around, run)) for run in (ruled, going)] == [100, 1]
    await around.ask(SetRetention(rule=RetentionRule(workspace="speech", log_retention_days=9)))
    await eventually(lambda: are_gone(around, ruled))
    await eventually(lambda: has_no_chunks(around, going))
    assert await read_all_lines(around, ruled) == await read_all_lines(around, going) == []
    assert [len(await read_all_lines(around, run)) for run in (kept, elsewhere)] == [100, 100]
    await around.ask(SetRetention(rule=RetentionRule(workspace="speech")))


async def has_no_chunks(around: Platform, run: Run) -> bool:
    return not await around.count(CHUNKS, run.trial)


async def are_gone(around: Platform, run: Run) -> bool:
    return not await around.count("SELECT count(*) FROM registry.log_object WHERE trial = $1", run.trial)


async def written(around: Platform, lines: int, **more: Any) -> Run:
    """A trial that is over, with so many lines; its eighth is a warning of rank 1."""
    run = around.scheduler.grant()
    for first in range(1, lines + 1, 50):
        batch = [text(number) for number in range(first, min(first + 50, lines + 1))]
        if first > 1:
            await around.lines(run, first, batch, **more)
            continue
        await around.lines(run, 1, batch[:7], **more)
        await around.lines(run, 8, batch[7:8], rank=1, level="warning", **more)
        await around.lines(run, 9, batch[8:], **more)
    await around.publish("searcher", finished_trial(run))
    return run


def text(number: int) -> str:
    return f"step {number} loss={number * 0.37:.4f}"


async def is_packed(around: Platform, run: Run) -> bool:
    return bool(await around.count(KEPT, run.trial)) and not await around.count(CHUNKS, run.trial)


async def read_all_lines(around: Platform, run: Run) -> list[StoredLine]:
    lines: list[StoredLine] = []
    after = 0
    while True:
        page = await around.ask(GetLogs(trial_id=run.trial, after=after, limit=70))
        assert isinstance(page, LogPage)
        if page.next == after:
            return lines
        lines += page.lines
        after = page.next


async def search(around: Platform, run: Run, **wanted: Any) -> list[FoundLine]:
    found = await around.ask(SearchLogs(trials=(TrialId(run.trial),), **wanted))
    assert isinstance(found, FoundLines)
    assert found.next is None
    return list(found.lines)


def _s3(environment: dict[str, str]) -> S3Settings:
    prefix = "MUSTER_S3__"
    values = {
        key[len(prefix) :].lower(): value for key, value in environment.items() if key.startswith(prefix)
    }
    return S3Settings.model_validate(values)
