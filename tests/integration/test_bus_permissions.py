"""Who may say and hear what: every identity against every class of subject, on the real server."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError, NoRespondersError
from nats.js import api

from deploy.embedded.ports import free_ports
from deploy.embedded.servers import Home, NatsServer
from deploy.keys.directory import Keys
from deploy.keys.files import init_keys, revoke_key, rotate_service
from deploy.keys.permissions import SERVICES, inbox
from shared.clock import SystemClock
from shared.nats_jwt import KeyKind, WorkerIssuer, credentials_text, new_seed, public_key, worker_token
from tests.integration.servers import Servers
from tests.support.waiting import eventually

WORKERS = ("w-1", "w-2")
DELIVERING = set(SERVICES) - {"simulator"}
"""Those with an inbox and an outbox; the simulator keeps nothing."""

PUBLISHERS: dict[str, set[str]] = {
    "evt.v1.t.submission.committed": {"gateway"},
    "evt.v1.t.experiment.changed": {"searcher"},
    "evt.v1.t.trial.wanted": {"searcher"},
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


class Probe:
    """A connection that remembers what the server refused."""

    def __init__(self) -> None:
        self.client = Client()
        self.refused: list[str] = []

    async def on_error(self, error: Exception) -> None:
        self.refused.append(str(error).lower())

    async def may(self, action: str, subject: str) -> bool:
        """Whether the server lets this identity publish or hear the subject."""
        self.refused.clear()
        if action == "publish":
            await self.client.publish(subject, b"{}")
        else:
            subscription = await self.client.subscribe(subject)
        await self.client.flush()
        await self.client.flush()  # the first ping overtakes what was pending
        if action != "publish" and not self.refused:
            await subscription.unsubscribe()
        return not [line for line in self.refused if subject.lower() in line]


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


@asynccontextmanager
async def connected(server: NatsServer, identity: str, credentials: Path) -> AsyncIterator[Probe]:
    probe = Probe()
    await probe.client.connect(
        server.url,
        user_credentials=str(credentials),
        inbox_prefix=inbox(identity).encode(),
        error_cb=probe.on_error,
        allow_reconnect=False,
    )
    yield probe
    await probe.client.close()


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
            durable_name="scheduler", filter_subjects=["evt.v1.*.trial.wanted"], ack_wait=1
        )
        await scheduler.client.jetstream().add_consumer("EVT", consumer)
        await searcher.client.jetstream().publish("evt.v1.t.trial.wanted", b"once")
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


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server with identities of its own: what is revoked there is nobody else's."""
    home = Home(tmp_path)
    home.make()
    server = NatsServer(home, free_ports(1)[0], init_keys(tmp_path / "keys", SystemClock().now()))
    server.prepare()
    server.start()
    server.wait_ready()
    yield server
    server.stop()


def _badge(server: NatsServer, worker: str, seed: str) -> Path:
    """Credentials as the scheduler issues them now."""
    issuer, now = WorkerIssuer.from_json(server.keys.worker_issuer.read_text()), SystemClock().now()
    token = worker_token(issuer, worker, public_key(seed), now=now, until=now + timedelta(hours=24))
    path = server.home.root / f"{worker}-{public_key(seed)[-6:]}.creds"
    path.write_text(credentials_text(token, seed))
    return path


def _read_again(server: NatsServer) -> None:
    server.prepare()
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)


async def _is_let_in(server: NatsServer, identity: str, credentials: Path) -> bool:
    try:
        async with connected(server, identity, credentials):
            return True
    except NatsError:
        return False


async def test_a_revoked_worker_is_cut_off_and_whatever_is_signed_for_its_key_counts_no_more(
    own_server: NatsServer,
) -> None:
    keys, now = own_server.keys, SystemClock().now()
    stolen, clean = (new_seed(KeyKind.USER, os.urandom(32)) for _ in range(2))
    first = _badge(own_server, "w-1", stolen)
    async with (
        connected(own_server, "w-1", first) as thief,
        connected(own_server, "w-2", _badge(own_server, "w-2", clean)) as other,
        connected(own_server, "scheduler", keys.credentials("scheduler")) as scheduler,
    ):
        revoke_key(keys.directory, public_key(stolen), "w-1", now)
        _read_again(own_server)
        await eventually(lambda: thief.client.is_closed)
        assert other.client.is_connected and scheduler.client.is_connected
        assert await other.may("publish", "rpt.v1.w-2.reports")
    assert not await _is_let_in(own_server, "w-1", first)
    assert not await _is_let_in(own_server, "w-1", _badge(own_server, "w-1", stolen)), "issued anew"
    assert await _is_let_in(
        own_server, "w-1", _badge(own_server, "w-1", new_seed(KeyKind.USER, os.urandom(32)))
    )


async def test_a_service_has_another_key_while_the_old_one_counts_until_it_is_revoked(
    own_server: NatsServer,
) -> None:
    keys: Keys = own_server.keys
    kept = own_server.home.root / "old.creds"
    kept.write_text(keys.credentials("registry").read_text())
    old = rotate_service(keys.directory, "registry", SystemClock().now())
    assert await _is_let_in(own_server, "registry", keys.credentials("registry"))
    assert await _is_let_in(own_server, "registry", kept), "it was cut off before it could be started again"
    async with (
        connected(own_server, "registry", kept) as before,
        connected(own_server, "registry", keys.credentials("registry")) as after,
    ):
        revoke_key(keys.directory, old, "registry", SystemClock().now())
        _read_again(own_server)
        await eventually(lambda: before.client.is_closed)
        assert await after.may("publish", "evt.v1.t.validation.stored")
        assert not await after.may("publish", "evt.v1.t.trial.wanted")
    assert not await _is_let_in(own_server, "registry", kept)
