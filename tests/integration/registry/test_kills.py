"""Effects are counted while replicas are really killed and repeat each other's work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from muster.errors import Transient
from shared.ids import CheckpointId, new_id
from shared.messages.exports import Exported, ExportMetrics
from shared.messages.logs import GetLogs
from shared.messages.reports import Report, Validation
from tests.integration.registry.messages import granted, report, validation, wanted
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.test_exports import fetched
from tests.integration.registry.test_media import keep, listed, read
from tests.integration.registry.uploads import FILES, manifest, send
from tests.support.waiting import eventually

QUICK = {
    "MUSTER_REGISTRY__SETTLE_EVERY_S": "0.2",
    "MUSTER_REGISTRY__COLLECT_AFTER_S": "0",
    "MUSTER_REGISTRY__UNUSED_EVERY_S": "0.2",
    "MUSTER_REGISTRY__LOG_OBJECT_BYTES": "300",
    "MUSTER_REGISTRY__LOG_PACK_EVERY_S": "0.1",
    "MUSTER_REGISTRY__LOG_ATTEMPT_S": "0.5",
}


async def all_published(around: Platform) -> bool:
    return await around.count("SELECT count(*) FROM registry.outbox WHERE published_at IS NULL") == 0


@contextlib.asynccontextmanager
async def restarted_when_dead(around: Platform, faults: str) -> AsyncIterator[None]:
    """A replica that is started again once a fault has killed it."""
    async with around.registry(faults, **QUICK) as first:

        async def again() -> None:
            await first.died()
            async with around.registry(**QUICK):
                await asyncio.Event().wait()

        task = asyncio.create_task(again())
        try:
            yield
            await first.died()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.mark.parametrize("point", ["registry.before_log_put", "registry.before_log_kept"])
async def test_killed_while_it_packs_lines_each_is_there_once(around: Platform, point: str) -> None:
    run = around.scheduler.grant()
    kept = "SELECT coalesce(sum(lines), 0) FROM registry.log_object WHERE trial = $1 AND state = 'stored'"
    rest = "SELECT count(*) FROM registry.log_object WHERE trial = $1 AND state <> 'stored'"

    async def is_packed() -> bool:
        return await around.count(kept, run.trial) == 100 and not await around.count(rest, run.trial)

    async with restarted_when_dead(around, f"{point}:2:kill"):
        for first in range(1, 101, 50):
            await around.lines(run, first, [f"line {number}" for number in range(first, first + 50)])
        await eventually(is_packed)
        page = await around.ask(GetLogs(trial_id=run.trial))
    assert [line.text for line in page.lines] == [f"line {number}" for number in range(1, 101)]
    assert not await around.count("SELECT count(*) FROM registry.log_chunk WHERE trial = $1", run.trial)


async def test_killed_before_an_export_is_whole_nobody_is_given_a_part_of_it(around: Platform) -> None:
    run = around.scheduler.grant()
    question = ExportMetrics(experiment_id=run.experiment)
    async with restarted_when_dead(around, "registry.before_export_manifest:1:kill"):
        await around.publish("searcher", wanted(run))
        await around.reports(run, 1, [report(step, loss=1.0) for step in range(1, 4)])
        numbered = "SELECT count(*) FROM registry.trial WHERE id = $1 AND number IS NOT NULL"

        async def is_numbered() -> bool:
            return await around.count(numbered, run.trial) == 1

        await eventually(is_numbered)
        with pytest.raises(Transient):
            await around.ask(question)

        async def is_ready() -> bool:
            with contextlib.suppress(Transient):
                found.append(await around.ask(question))
            return bool(found) and found[-1].is_ready

        found: list[Exported] = []
        await eventually(is_ready)
    assert (found[-1].rows, len(found[-1].files)) == (3, 1)
    assert (await fetched(found[-1].files[0], "parquet")).num_rows == 3


@pytest.mark.parametrize(
    "point", ["unit.before_commit", "unit.after_commit", "registry.before_reply", "relay.before_mark"]
)
async def test_killed_around_the_commit_each_report_counts_once(around: Platform, point: str) -> None:
    run = around.scheduler.grant()
    async with restarted_when_dead(around, f"{point}:3:kill"):
        first = 1
        for step in range(1, 7):
            batch: list[Report | Validation] = [
                report(step, loss=1.0 / step),
                validation(step, step, loss=float(step)),
            ]
            mark = await around.reports(run, first, batch)
            assert mark.next == first + 2
            first = mark.next
            await eventually(lambda: all_published(around))
    assert await around.points(run) == 12
    stored = await around.emitted("validation.stored", run_id=run.id)
    assert [event["number"] for event in stored] == [1, 2, 3, 4, 5, 6]
    summary = await around.rows("SELECT sum(count) FROM registry.series WHERE run = $1", run.id)
    assert summary[0][0] == 12


async def test_killed_between_verification_and_commit_a_checkpoint_is_saved_once(around: Platform) -> None:
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    async with restarted_when_dead(around, "registry.after_verify:1:kill"):
        links = await around.upload(run, checkpoint, 1, 10, manifest(FILES))
        await send(links.files, FILES)
        assert (await around.commit(run, checkpoint)).state == "saved"
    assert len(await around.emitted("checkpoint.saved", checkpoint_id=checkpoint)) == 1


async def test_killed_between_copy_and_commit_a_pack_of_media_counts_once(around: Platform) -> None:
    run = around.scheduler.grant()
    async with restarted_when_dead(around, "registry.after_media_put:1:kill"):
        await keep(around, run, ("text", "notes", 1, b"survives"))
        assert [await read(one) for one in await listed(around, run)] == [b"survives"]


async def test_replicas_share_the_work_and_double_nothing(around: Platform) -> None:
    """Each batch is sent twice at once; two replicas race for the same marks, and one of them is killed."""
    runs = [around.scheduler.grant() for _ in range(12)]
    async with around.registry(**QUICK), around.registry("unit.before_commit:60:kill", **QUICK) as victim:
        for run in runs:
            await around.publish("scheduler", granted(run))

        async def journal(run: Run) -> None:
            first = 1
            while first <= 40:
                batch: list[Report | Validation] = [
                    report(first, loss=1.0),
                    validation((first + 1) // 2, first, loss=2.0),
                ]
                marks = await asyncio.gather(*[around.reports(run, first, batch) for _ in range(2)])
                first = max(mark.next for mark in marks)

        await asyncio.gather(*map(journal, runs))
        await victim.died()
    for run in runs:
        assert await around.points(run) == 40
        numbers = [event["number"] for event in await around.emitted("validation.stored", run_id=run.id)]
        assert numbers == list(range(1, 21))
