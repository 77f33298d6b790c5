"""Attack 5: a thief of a service's credential sends a worker a desired set, and so runs a command on its machine."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from nats.errors import Error as NatsError
from nats.js import api

from deploy.embedded.servers import NatsServer
from shared.ids import WorkerId
from shared.messages.allocations import DesiredSet
from shared.messages.trial_specs import GangMember
from tests.integration.bus_probe import Probe, connected
from tests.integration.servers import Servers
from tests.integration.worker.conftest import heard
from tests.integration.worker.daemon import Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.support.waiting import eventually

NAME = "a5"
ONE = (GangMember(worker=WorkerId(NAME), slots=1),)
SUBJECT = DesiredSet.subject(WorkerId(NAME))
OWN_EVENT = "evt.v1.t.validation.stored"
JUMP = 10**12


async def by_publishing(thief: Probe, payload: bytes) -> None:
    await thief.client.publish(SUBJECT, payload)


async def by_a_push_consumer(thief: Probe, payload: bytes) -> None:
    """The way that was found: the server itself delivers a stored event to the worker's subject."""
    config = api.ConsumerConfig(
        name="registry", deliver_subject=SUBJECT, ack_policy=api.AckPolicy.NONE, filter_subject=OWN_EVENT
    )
    body = orjson.dumps({"stream_name": "EVT", "config": config.as_dict()})
    for subject in (
        "$JS.API.CONSUMER.CREATE.EVT.registry",
        "$JS.API.CONSUMER.CREATE.EVT.registry." + OWN_EVENT,
        "$JS.API.CONSUMER.DURABLE.CREATE.EVT.registry",
    ):
        with suppress(NatsError, TimeoutError):
            await thief.client.request(subject, body, timeout=0.5)
    await thief.client.publish(OWN_EVENT, payload)


async def by_answering_itself(thief: Probe, payload: bytes) -> None:
    """A permission to answer is one to publish, to a subject that the sender of the question chooses."""

    async def answer(message: object) -> None:
        await thief.client.publish(SUBJECT, payload)

    await thief.client.subscribe("_INBOX_registry.self", cb=answer)
    await thief.client.publish("_INBOX_registry.self", b"", reply=SUBJECT)


WAYS: dict[str, Callable[[Probe, bytes], Awaitable[None]]] = {
    "publishing": by_publishing,
    "push consumer": by_a_push_consumer,
    "answering itself": by_answering_itself,
}


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    return await heard(platform, daemons(NAME))


@pytest.mark.parametrize(
    ("service", "way"), [("scheduler", "publishing"), *(("registry", way) for way in WAYS)]
)
async def test_only_the_scheduler_s_key_commands_a_worker(
    servers: Servers,
    nats_server: NatsServer,
    platform: FakePlatform,
    worker: Daemon,
    tmp_path: Path,
    service: str,
    way: str,
) -> None:
    print(f"tried: a command for a worker by {way} as {service}; stopped by the signature")
    (tmp_path / "train.py").write_text("import muster\nmuster.trial().report(1, loss=1.0)\n")
    run = platform.allocation(f"attack {service} {way}", platform.add_code(tmp_path), ONE)
    forged = DesiredSet(worker=WorkerId(NAME), epoch=JUMP, sequence=1, allocations=(run,))
    async with connected(nats_server, service, servers.keys.credentials(service)) as thief:
        await WAYS[way](thief, forged.to_bytes())
        await thief.client.flush()
        await asyncio.sleep(3)
    assert not (worker.directory / "runs" / str(run.run_id)).exists(), "the command ran"
    assert not platform.steps(run)
    seen = await platform.desire(NAME)
    assert seen.epoch == platform.epoch, "the worker refuses the scheduler"
    run = platform.allocation(f"genuine {service} {way}", platform.add_code(tmp_path), ONE)
    await platform.desire(NAME, run)
    await eventually(lambda: platform.steps(run) == [1])
    await platform.desire(NAME)
    await eventually(lambda: platform.of(NAME, run) is None)
