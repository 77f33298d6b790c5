"""Servers go away and come again: what was acknowledged stays, what was not is sent again, nothing is doubled."""

import asyncio

import pytest

from shared.ids import CheckpointId, new_id
from shared.messages.reports import Mark
from tests.integration.registry.messages import report, validation
from tests.integration.registry.platform import Platform, Registry
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import FILES, manifest, send
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def deliver(around: Platform, run: Run, steps: int) -> None:
    """A worker's journal: what is not acknowledged is sent again."""
    first = 1
    while first <= steps:
        mark: Mark = await around.reports(run, first, [validation(first, first, loss=1.0)])
        if mark.retry_after_s is not None:
            await asyncio.sleep(0.1)
        first = mark.next


async def test_postgres_restarts_under_load(around: Platform, registry: Registry) -> None:
    runs = [around.scheduler.grant() for _ in range(4)]
    journals = [asyncio.create_task(deliver(around, run, 400)) for run in runs]
    await asyncio.sleep(0.5)
    postgres = around.servers.postgres
    await asyncio.to_thread(postgres.kill)
    await asyncio.sleep(0.5)
    await asyncio.to_thread(around.servers.restart, postgres)
    await asyncio.gather(*journals)
    for run in runs:
        stored = await around.emitted("validation.stored", run_id=run.id)
        assert [event["number"] for event in stored] == list(range(1, 401))
        assert await around.count("SELECT sum(count) FROM registry.series WHERE run = $1", run.id) == 400


async def test_the_bus_restarts_under_load(around: Platform, registry: Registry) -> None:
    runs = [around.scheduler.grant() for _ in range(4)]
    journals = [asyncio.create_task(deliver(around, run, 300)) for run in runs]
    await asyncio.sleep(0.3)
    bus = around.servers.nats
    await asyncio.to_thread(bus.kill)
    await asyncio.to_thread(around.servers.restart, bus)
    await asyncio.gather(*journals)
    for run in runs:
        numbers = [event["number"] for event in await around.emitted("validation.stored", run_id=run.id)]
        assert numbers == list(range(1, 301))

    async def all_published() -> bool:
        return await around.count("SELECT count(*) FROM registry.outbox WHERE published_at IS NULL") == 0

    await eventually(all_published)


async def test_a_commit_waits_for_the_object_store(around: Platform) -> None:
    run = around.scheduler.grant()
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, 1, 10, manifest(FILES))
    await send(links.files, FILES)
    store = around.servers.s3
    await asyncio.to_thread(store.kill)
    waiting = await around.commit(run, checkpoint)
    assert waiting.state == "uploading"
    assert waiting.retry_after_s is not None
    assert (await around.reports(run, 1, [report(1, loss=1.0)])).next == 2
    await asyncio.to_thread(around.servers.restart, store)

    async def is_saved() -> bool:
        return (await around.commit(run, checkpoint)).state == "saved"

    await eventually(is_saved)
