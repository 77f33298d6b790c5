"""Who may publish, hear and create what: every identity against every class of subject, on the real server."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.msg import Msg
from nats.errors import Error as NatsError, NoRespondersError

from deploy.embedded.servers import NatsServer
from deploy.keys.permissions import BUS_KEEPER, SERVICES
from shared.auth.nats_jwt import KeyKind, WorkerIssuer, credentials_text, new_seed, public_key, worker_token
from shared.clock import SystemClock
from shared.messages.consumers import all_consumers
from tests.integration.bus_probe import Probe, connected
from tests.integration.servers import Servers

WORKERS = ("w-1", "w-2")
DELIVERING = set(SERVICES) - {"simulator"}
"""Those with an inbox and an outbox; the simulator keeps nothing."""

PUBLISHERS: dict[str, set[str]] = {
    "evt.v1.t.submission.committed": {"gateway"},
    "evt.v1.t.experiment.changed": {"searcher"},
    "evt.v1.t.trial.requested": {"searcher"},
    "evt.v1.t.run.granted": {"scheduler"},
    "evt.v1.t.request.closed": {"scheduler"},
    "evt.v1.t.worker.joined": {"scheduler"},
    "evt.v1.t.pool.demanded": {"scheduler"},
    "evt.v1.t.instance.changed": {"provisioner"},
    "evt.v1.t.validation.stored": {"registry"},
    "evt.v1.t.checkpoint.saved": {"registry"},
    "evt.v1.t.operation.refused": {"searcher", "scheduler", "provisioner", "registry"},
    "cmd.v1.searcher.pause_experiment": {"gateway"},
    "cmd.v1.scheduler.drain_worker": {"gateway", "provisioner"},
    "cmd.v1.registry.create_model": {"gateway"},
    "cmd.v1.gateway.republish": set(),
    "evt.v1.t": set(),
    "cmd.v1.scheduler": set(),
    "dlq.v1.registry": {"registry"},
    "qry.v1.scheduler.allocation": DELIVERING,
    "qry.v1.scheduler.outlook": set(SERVICES),
    "qry.v1.registry.curves": set(SERVICES),
    "qry.v1.registry.logs": DELIVERING,
    "live.v1.t.experiment.x": DELIVERING,
    "wrk.v1.w-1.desired": {"scheduler"},
    "wrk.v1.w-1.verdict": {"searcher"},
    "rpt.v1.w-1.reports": {"w-1"},
    "wrq.v1.w-1.commit": {"w-1"},
    "wrq.v1.w-1.secret": {"w-1"},
    "rpt.v1.w-2.reports": {"w-2"},
    "wrq.v1.w-2.observed": {"w-2"},
    "dlq.v1.searcher": {"searcher"},
    "_INBOX_gateway.x": set(SERVICES),
    "_INBOX_gateway.x.y": set(SERVICES),
    "_INBOX_scheduler.x.y": set(SERVICES) | set(WORKERS),
    "_INBOX_w-1.x": set(),
    "_INBOX_w-1.x.y": {"gateway", "scheduler", "registry"},
    "_INBOX_bus-keeper.x": set(),
    "$JS.API.STREAM.INFO.EVT": DELIVERING | {BUS_KEEPER},
    "$JS.API.STREAM.CREATE.EVT": {BUS_KEEPER},
    "$JS.API.STREAM.CREATE.OTHER": set(),
    "$JS.API.STREAM.UPDATE.EVT": set(),
    "$JS.API.STREAM.DELETE.EVT": set(),
    "$JS.API.STREAM.PURGE.EVT": set(),
    "$JS.API.STREAM.MSG.DELETE.EVT": set(),
    "$JS.API.STREAM.MSG.GET.EVT": set(),
    "$JS.API.CONSUMER.DELETE.EVT.searcher": set(),
    "$JS.API.CONSUMER.MSG.NEXT.EVT.searcher": {"searcher"},
    "$JS.API.CONSUMER.MSG.NEXT.DLQ.searcher": set(),
    "$JS.API.CONSUMER.CREATE.EVT": set(),
    "$JS.API.CONSUMER.CREATE.EVT.searcher": {BUS_KEEPER},
    "$JS.API.CONSUMER.CREATE.EVT.searcher.evt.v1.*.run.granted": {BUS_KEEPER},
    "$JS.API.CONSUMER.DURABLE.CREATE.EVT.searcher": set(),
    "$JS.API.CONSUMER.PAUSE.EVT.searcher": set(),
    "$JS.API.DIRECT.GET.EVT": set(),
    "$JS.API.STREAM.SNAPSHOT.EVT": set(),
    "$JS.API.STREAM.RESTORE.EVT": set(),
    "$JS.API.STREAM.LEADER.STEPDOWN.EVT": set(),
    "$JS.ACK.EVT.searcher.1.1.1.1.0": {"searcher"},
    "$JS.ACK._.hash.EVT.searcher.1.1.1.1.0": {"searcher"},
    "$SYS.REQ.SERVER.PING": set(),
}

LISTENERS: dict[str, set[str]] = {
    ">": set(),
    "evt.v1.>": set(),
    "cmd.v1.>": set(),
    "live.v1.>": {"gateway"},
    "qry.v1.searcher.journal": {"searcher"},
    "qry.v1.scheduler.>": {"scheduler"},
    "qry.v1.simulator.plan": {"simulator"},
    "rpt.v1.>": {"registry"},
    "rpt.v1.w-1.reports": {"registry"},
    "wrq.v1.*.observed": {"scheduler"},
    "wrq.v1.*.commit": {"registry"},
    "wrq.v1.*.secret": {"gateway"},
    "wrk.v1.w-1.>": {"w-1"},
    "wrk.v1.w-2.desired": {"w-2"},
    "wrk.v1.>": set(),
    "_INBOX_searcher.>": {"searcher"},
    "_INBOX_w-2.>": {"w-2"},
    "_INBOX_bus-keeper.>": {BUS_KEEPER},
    "_INBOX.>": set(),
    "dlq.v1.>": set(),
    "$JS.API.>": set(),
    "$SYS.>": set(),
}


@pytest.fixture(scope="module")
def creds(servers: Servers) -> Callable[[str], Path]:
    """The credentials of a service, or of a worker issued as the scheduler does."""
    issuer = WorkerIssuer.from_json(servers.keys.worker_issuer.read_text())

    def find(identity: str) -> Path:
        if identity not in WORKERS:
            return servers.keys.credentials(identity)
        seed, now = new_seed(KeyKind.USER, os.urandom(32)), SystemClock().now()
        token = worker_token(issuer, identity, public_key(seed), now=now, until=now + timedelta(hours=24))
        path = servers.root / f"{identity}.creds"
        path.write_text(credentials_text(token, seed))
        return path

    return find


def _answer(payload: bytes) -> Callable[[Msg], Awaitable[None]]:
    async def respond(message: Msg) -> None:
        await message.respond(payload)

    return respond


@pytest.mark.parametrize("identity", [*SERVICES, BUS_KEEPER, *WORKERS])
async def test_an_identity_says_and_hears_what_its_row_allows_and_nothing_else(
    identity: str, nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    said, heard = set(), set()
    async with connected(nats_server, identity, creds(identity)) as probe:
        for subject in PUBLISHERS:
            if await probe.may("publish", subject):
                said.add(subject)
        for subject in LISTENERS:
            if await probe.may("hear", subject):
                heard.add(subject)
    assert said == {subject for subject, allowed in PUBLISHERS.items() if identity in allowed}
    assert heard == {subject for subject, allowed in LISTENERS.items() if identity in allowed}


async def test_a_worker_and_the_scheduler_answer_each_other(
    nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    async with (
        connected(nats_server, "scheduler", creds("scheduler")) as scheduler,
        connected(nats_server, "w-1", creds("w-1")) as worker,
    ):
        await worker.client.subscribe("wrk.v1.w-1.desired", cb=_answer(b"observed"))
        await scheduler.client.subscribe("wrq.v1.*.renew", cb=_answer(b"renewed"))
        await asyncio.gather(worker.client.flush(), scheduler.client.flush())
        assert (await scheduler.client.request("wrk.v1.w-1.desired", b"")).data == b"observed"
        assert (await worker.client.request("wrq.v1.w-1.renew", b"")).data == b"renewed"
        with pytest.raises(NoRespondersError):
            await worker.client.request("wrq.v1.w-1.commit", b"")


async def test_two_services_share_a_stream_and_neither_takes_the_others_messages(
    nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    async with (
        connected(nats_server, "searcher", creds("searcher")) as searcher,
        connected(nats_server, "scheduler", creds("scheduler")) as scheduler,
    ):
        await searcher.client.jetstream().publish("evt.v1.t.trial.requested", b"once")
        pull = await scheduler.client.jetstream().pull_subscribe_bind("scheduler", "EVT")
        (message,) = await pull.fetch(1, timeout=5)
        await message.ack_sync()
        assert (await pull.consumer_info()).num_ack_pending == 0
        with pytest.raises((NatsError, TimeoutError)):
            await searcher.client.request("$JS.API.CONSUMER.MSG.NEXT.EVT.scheduler", b"", timeout=0.5)
        with pytest.raises((NatsError, TimeoutError)):
            await scheduler.client.jetstream(timeout=0.5).delete_stream("EVT")


REQUESTS: dict[str, dict[str, Any]] = {
    "STREAM.CREATE.EVT": {"name": "EVT", "subjects": ["evt.v1.>"]},
    "STREAM.CREATE.OWN": {"name": "OWN", "subjects": ["own.>"]},
    "STREAM.UPDATE.EVT": {"name": "EVT", "subjects": ["evt.v1.>", "qry.v1.>"]},
    "STREAM.DELETE.EVT": {},
    "STREAM.PURGE.EVT": {},
    "CONSUMER.DELETE.EVT.{me}": {},
    "CONSUMER.DELETE.EVT.searcher": {},
}
FILTER = "evt.v1.*.run.granted"


def _consumers(identity: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every subject and form in which the server takes a request for a consumer, each pull and push to somebody's subject."""
    for deliver in ("", "wrk.v1.w-1.desired", f"_INBOX_{identity}.stolen", "qry.v1.scheduler.join"):
        for stream in ("EVT", "CMD", "DLQ"):
            for name in (identity, "scheduler", "own"):
                config: dict[str, Any] = {"ack_policy": "none" if deliver else "explicit"}
                config |= {"deliver_subject": deliver} if deliver else {}
                for subject, more in (
                    (f"CONSUMER.CREATE.{stream}", {}),
                    (f"CONSUMER.CREATE.{stream}.{name}", {"name": name}),
                    (f"CONSUMER.CREATE.{stream}.{name}.{FILTER}", {"name": name, "filter_subject": FILTER}),
                    (f"CONSUMER.DURABLE.CREATE.{stream}.{name}", {"durable_name": name}),
                ):
                    yield subject, {"stream_name": stream, "config": config | more}


@pytest.mark.parametrize("identity", [*SERVICES, *WORKERS])
async def test_nobody_but_the_keeper_creates_changes_or_deletes_streams_and_consumers(
    identity: str, servers: Servers, nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    async with (
        connected(nats_server, "admin", servers.keys.credentials("admin")) as operator,
        connected(nats_server, identity, creds(identity)) as thief,
    ):
        before = await _state(operator)
        requests = [(subject.format(me=identity), body) for subject, body in REQUESTS.items()]
        requests += _consumers(identity)
        for subject, body in requests:
            payload = json.dumps(body).encode() if body else b""
            await thief.client.publish(f"$JS.API.{subject}", payload, reply=f"_INBOX_{identity}.answer.x")
        await thief.client.flush()
        await thief.client.flush()
        assert len(thief.refused) == len(requests)
        assert await _state(operator) == before


@pytest.mark.parametrize("identity", list(SERVICES))
async def test_an_answer_goes_to_inboxes_only(
    identity: str, nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    """A question to oneself, with a foreign reply subject, does not permit a publish to it."""
    targets = (
        "$JS.API.STREAM.DELETE.EVT",
        "wrk.v1.w-1.other",
        "cmd.v1.gateway.x",
        "evt.v1.t.other.x",
        "evt.v1.t",
    )
    async with connected(nats_server, identity, creds(identity)) as thief:
        heard: list[str] = []

        async def note(message: Msg) -> None:
            heard.append(message.reply)

        own = f"qry.v1.{identity}.own"
        for subject in (own, f"_INBOX_{identity}.own.x"):
            await thief.client.subscribe(subject, cb=note)
            for target in targets:
                await thief.client.publish(subject, b"", reply=target)
        await thief.client.flush()
        await thief.client.flush()
        assert set(heard) == set(targets)
        for target in targets:
            assert not await thief.may("publish", target)


async def test_a_worker_answers_the_scheduler_only(
    nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    """Whoever sends it something and names another reply subject does not make it publish there."""
    async with (
        connected(nats_server, "w-1", creds("w-1")) as worker,
        connected(nats_server, "scheduler", creds("scheduler")) as scheduler,
    ):
        arrived = asyncio.Event()

        async def note(message: Msg) -> None:
            arrived.set()

        await worker.client.subscribe("wrk.v1.w-1.desired", cb=note)
        await worker.client.flush()
        await scheduler.client.publish("wrk.v1.w-1.desired", b"", reply="cmd.v1.scheduler.x")
        await asyncio.wait_for(arrived.wait(), 10)
        assert not await worker.may("publish", "cmd.v1.scheduler.x")
        assert await worker.may("publish", "_INBOX_scheduler.a.b")


async def test_a_fetch_delivers_only_what_another_service_wrote(
    nats_server: NatsServer, creds: Callable[[str], Path]
) -> None:
    """The server delivers fetched messages to any subject that the fetch names, so no service may write what it fetches."""
    for service in sorted(DELIVERING - {"gateway"}):
        own = [one for one in all_consumers() if one.service == service]
        async with connected(nats_server, service, creds(service)) as thief:
            for consumer in own:
                for subject in consumer.filters:
                    assert not await thief.may("publish", subject.replace("*", "t")), (service, subject)


async def _state(operator: Probe) -> list[object]:
    """All streams and consumers with their configurations."""
    jetstream = operator.client.jetstream()
    found: list[object] = []
    for stream in await jetstream.streams_info():
        found.append(stream.config)
        found.extend(
            (info.name, info.config)
            for info in sorted(
                await jetstream.consumers_info(str(stream.config.name)), key=lambda info: info.name
            )
        )
    return found


async def test_an_expired_worker_is_let_in_no_more(nats_server: NatsServer, servers: Servers) -> None:
    issuer = WorkerIssuer.from_json(servers.keys.worker_issuer.read_text())
    seed, now = new_seed(KeyKind.USER, os.urandom(32)), SystemClock().now()
    token = worker_token(
        issuer, "w-3", public_key(seed), now=now - timedelta(hours=2), until=now - timedelta(hours=1)
    )
    path = servers.root / "w-3.creds"
    path.write_text(credentials_text(token, seed))
    with pytest.raises(NatsError):
        await nats.connect(
            nats_server.url, user_credentials=str(path), allow_reconnect=False, connect_timeout=2
        )
