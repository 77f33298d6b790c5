"""A message that nobody can handle ends as a dead letter, with its reason, and holds nobody up; also one that kills its process."""

import asyncio

from shared.bus import units
from shared.clock import SystemClock
from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, ExperimentId, new_id
from shared.messages.experiments import SubmissionCommitted
from tests.integration.bus.parts import (
    Environment,
    Process,
    count,
    dead_letters,
    running,
    submission,
)
from tests.integration.bus.relaying import POISON, Service, effect_of
from tests.integration.servers import Servers, TestDatabase
from tests.support.waiting import eventually


async def submit_around(sender: Service, poison: ExperimentId) -> None:
    """Ten submissions in one transaction, the fourth of them poisonous."""
    async with sender.units.tenant(DEFAULT_TENANT) as unit:
        unit.emit(*(submission(unit.now, poison if index == 3 else None) for index in range(10)))


async def test_a_refused_message_ends_as_one_dead_letter_with_its_reason(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    poison = ExperimentId(new_id(SystemClock()))
    plain = effect_of("searcher", emits=False)

    async def handle(unit: units.Unit, batch: list[object]) -> None:
        if any(delivery.message.experiment_id == poison for delivery in batch):  # type: ignore[attr-defined]
            raise Rejected("poison", "this one cannot be handled")
        await plain(unit, batch)

    searcher = Service(settings("searcher"), "searcher", "searcher", {SubmissionCommitted: handle})
    sender = Service(settings("gateway"), "gateway", "gateway", {})
    async with running(searcher), running(sender):
        await eventually(lambda: sender.ready)
        before = await count(tables, "searcher"), len(await dead_letters(servers, "searcher"))
        await submit_around(sender, poison)

        async def healthy_done() -> bool:
            return await count(tables, "searcher") - before[0] == 9

        async def buried() -> bool:
            return len(await dead_letters(servers, "searcher")) > before[1]

        await eventually(healthy_done)
        await eventually(buried)
    letters = (await dead_letters(servers, "searcher"))[before[1] :]
    assert len(letters) == 1
    assert letters[0].data is not None
    assert SubmissionCommitted.from_bytes(letters[0].data).experiment_id == poison
    headers = letters[0].headers or {}
    assert headers["Muster-Type"] == SubmissionCommitted.TYPE
    assert headers["Muster-Tenant"] == str(DEFAULT_TENANT)
    assert headers["Muster-Dead-Consumer"] == "searcher"
    assert headers["Muster-Dead-Subject"].endswith("submission.committed")
    assert "this one cannot be handled" in headers["Muster-Dead-Because"]


async def test_a_message_that_kills_its_process_is_buried_alone(
    settings: Environment, tables: TestDatabase, servers: Servers
) -> None:
    poison = ExperimentId(new_id(SystemClock()))
    process = Process({**settings("searcher"), POISON: str(poison)})
    sender = Service(settings("gateway"), "gateway", "gateway", {})
    async with running(sender):
        await eventually(lambda: sender.ready)
        before = await count(tables, "searcher"), len(await dead_letters(servers, "searcher"))
        work = asyncio.create_task(process.run(""))
        try:
            await submit_around(sender, poison)

            async def buried() -> bool:
                return len(await dead_letters(servers, "searcher")) > before[1]

            await eventually(buried, timeout_s=120, every_s=0.5)

            async def healthy_done() -> bool:
                return await count(tables, "searcher") - before[0] >= 9

            await eventually(healthy_done)
            await asyncio.sleep(1)
        finally:
            work.cancel()
            await asyncio.wait({work})
    assert process.deaths <= 6
    assert await count(tables, "searcher") - before[0] == 9
    letters = (await dead_letters(servers, "searcher"))[before[1] :]
    assert [SubmissionCommitted.from_bytes(letter.data or b"").experiment_id for letter in letters] == [
        poison
    ]
