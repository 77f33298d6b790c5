"""Who may say and hear what: every identity against every class of subject, on the real server."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import nats
import pytest
from nats.aio.msg import Msg
from nats.errors import Error as NatsError, NoRespondersError
from nats.js import api

from deploy.embedded.servers import NatsServer
from deploy.keys.permissions import SERVICES
from shared.auth.nats_jwt import KeyKind, WorkerIssuer, credentials_text, new_seed, public_key, worker_token
from shared.clock import SystemClock
from tests.integration.bus_probe import connected
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
    "qry.v1.scheduler.allocation": DELIVERING,
    "qry.v1.scheduler.outlook": set(SERVICES),
    "qry.v1.registry.curves": set(SERVICES),
    "qry.v1.registry.logs": DELIVERING,
    "live.v1.t.experiment.x": DELIVERING,
    "wrk.v1.w-1.desired": {"scheduler"},
    "wrk.v1.w-1.verdict": {"searcher"},
    "rpt.v1.w-1.reports": {"w-1"},
    "wrq.v1.w-1.commit": {"w-1"},
    "rpt.v1.w-2.reports": {"w-2"},
    "wrq.v1.w-2.observed": {"w-2"},
    "dlq.v1.searcher": {"searcher"},
    "_INBOX_gateway.x": {"gateway"},
    "_INBOX_w-1.x": set(),
    "$JS.API.STREAM.INFO.EVT": DELIVERING,
    "$JS.API.STREAM.CREATE.EVT": DELIVERING,
    "$JS.API.STREAM.UPDATE.EVT": set(),
    "$JS.API.STREAM.DELETE.EVT": set(),
    "$JS.API.STREAM.PURGE.EVT": set(),
    "$JS.API.STREAM.MSG.DELETE.EVT": set(),
    "$JS.API.STREAM.MSG.GET.EVT": set(),
    "$JS.API.CONSUMER.DELETE.EVT.searcher": set(),
    "$JS.API.CONSUMER.MSG.NEXT.EVT.searcher": {"searcher"},
    "$JS.API.CONSUMER.CREATE.EVT.searcher": {"searcher"},
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
    "wrk.v1.w-1.>": {"w-1"},
    "wrk.v1.w-2.desired": {"w-2"},
    "wrk.v1.>": set(),
    "_INBOX_searcher.>": {"searcher"},
    "_INBOX_w-2.>": {"w-2"},
    "_INBOX.>": set(),
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


@pytest.mark.parametrize("identity", [*SERVICES, *WORKERS])
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
        stream = api.StreamConfig(name="EVT", subjects=["evt.v1.>"])
        await searcher.client.jetstream().add_stream(stream)
        consumer = api.ConsumerConfig(
            durable_name="scheduler", filter_subjects=["evt.v1.*.trial.requested"], ack_wait=1
        )
        await scheduler.client.jetstream().add_consumer("EVT", consumer)
        await searcher.client.jetstream().publish("evt.v1.t.trial.requested", b"once")
        pull = await scheduler.client.jetstream().pull_subscribe_bind("scheduler", "EVT")
        (message,) = await pull.fetch(1, timeout=5)
        await message.ack_sync()
        assert (await pull.consumer_info()).num_ack_pending == 0
        with pytest.raises((NatsError, TimeoutError)):
            await searcher.client.request("$JS.API.CONSUMER.MSG.NEXT.EVT.scheduler", b"", timeout=0.5)
        with pytest.raises((NatsError, TimeoutError)):
            await scheduler.client.jetstream(timeout=0.5).delete_stream("EVT")


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
