"""Many messages at once are stored as one, and each has an outcome of its own all the same."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.js.api import RawStreamMsg, StreamConfig

from shared.bus import Bus
from shared.bus.batch_publish import NotStored, Outgoing, PublishAck
from shared.bus.keeping import ensure_bus
from shared.bus.streams import EVENTS
from tests.integration.bus.plain import PlainServer

MANY = 1500
TIMEOUT_S = 20.0


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    async with PlainServer(tmp_path).running() as server, await server.connect() as bus:
        yield bus


def message(number: int, name: str = "one") -> Outgoing:
    return Outgoing(f"evt.v1.t.a.{name}", str(number).encode(), {"Nats-Msg-Id": f"{name}-{number}"})


async def stored(bus: Bus) -> list[RawStreamMsg]:
    """What the stream has, in its order."""
    state = await bus.stream_state(EVENTS.name)
    return [await bus.jetstream.get_msg(EVENTS.name, each + 1) for each in range(state.last_sequence)]


async def payloads(bus: Bus) -> list[int]:
    return [int(each.data or b"") for each in await stored(bus)]


async def test_many_are_stored_in_their_order_with_two_syncs(bus: Bus) -> None:
    await ensure_bus(bus.jetstream)
    outcomes = await bus.pipeline.publish([message(each) for each in range(MANY)], TIMEOUT_S)
    assert outcomes == [PublishAck(EVENTS.name, each + 1) for each in range(MANY)]
    assert await payloads(bus) == list(range(MANY))
    batches = [(each.headers or {}).get("Nats-Batch-Id") for each in await stored(bus)]
    assert None not in batches
    assert len(set(batches)) == 2


async def test_what_is_there_already_is_found_and_the_rest_is_stored(bus: Bus) -> None:
    await ensure_bus(bus.jetstream)
    first = await bus.pipeline.publish([message(50)], TIMEOUT_S)
    outcomes = await bus.pipeline.publish([message(each) for each in range(100)], TIMEOUT_S)
    assert first == [PublishAck(EVENTS.name, 1)]
    assert outcomes[50] == PublishAck(EVENTS.name, 1)
    assert await payloads(bus) == [50, *range(50), *range(51, 100)]


@pytest.mark.parametrize("place", [50, 99])
async def test_one_that_is_refused_stands_in_nobodys_way(bus: Bus, place: int) -> None:
    await ensure_bus(bus.jetstream)
    messages = [message(each) for each in range(100)]
    messages[place] = Outgoing("evt.v1.t.a.one", bytes(2**21), {})
    outcomes = await bus.pipeline.publish(messages, TIMEOUT_S)
    assert [number for number, each in enumerate(outcomes) if isinstance(each, NotStored)] == [place]
    assert await payloads(bus) == [*range(place), *range(place + 1, 100)]


async def test_a_stream_of_before_takes_them_one_by_one(bus: Bus) -> None:
    await bus.jetstream.add_stream(StreamConfig(name=EVENTS.name, subjects=list(EVENTS.subjects)))
    outcomes = await bus.pipeline.publish([message(each) for each in range(100)], TIMEOUT_S)
    assert outcomes == [PublishAck(EVENTS.name, each + 1) for each in range(100)]


async def test_nobody_waits_for_what_was_never_answered(bus: Bus) -> None:
    """No stream takes it: the commit is answered by nobody."""
    outcomes = await bus.pipeline.publish([message(each) for each in range(100)], TIMEOUT_S)
    assert all(isinstance(each, NotStored) for each in outcomes)
    await ensure_bus(bus.jetstream)
    again = await bus.pipeline.publish([message(each) for each in range(100)], TIMEOUT_S)
    assert again == [PublishAck(EVENTS.name, each + 1) for each in range(100)]
