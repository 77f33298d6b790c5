"""Keys that are revoked and changed while the bus runs."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from nats.errors import Error as NatsError
from structlog.testing import capture_logs

from deploy.embedded.host.ports import free_ports
from deploy.embedded.host.processes import ProcessId
from deploy.embedded.keys.signing_key_rotation import finish_account, rotate_signing
from deploy.embedded.servers import Home, NatsServer
from deploy.embedded.state import Part, State
from deploy.keys.directory import Keys
from deploy.keys.files import init_keys, retire, revoke_key, rotate_account, rotate_operator, rotate_service
from muster.errors import Conflict, Transient
from shared.auth.nats_jwt import (
    KeyKind,
    WorkerIssuer,
    credentials_text,
    decode,
    encode,
    new_seed,
    public_key,
    worker_token,
)
from shared.bus import Bus
from shared.bus.keeping import ensure_bus
from shared.clock import SystemClock
from tests.integration.bus_probe import connected
from tests.support.waiting import eventually


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


async def _go_on_trying(server: NatsServer, name: str, credentials: Path) -> None:
    """As a worker does. On a machine with much else to do one try, which ends after ten seconds, may have come to no answer of the server's."""
    while True:
        with suppress(Transient):
            await Bus.connect(server.url, name, credentials)


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
    except (
        NatsError,
        ConnectionError,
    ):  # the server closes at once whom it refuses, also while that is still being told
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
    with capture_logs() as lines:
        trying = asyncio.create_task(_go_on_trying(own_server, "w-1", first))
        await eventually(lambda: any("its key was revoked" in str(line.get("why")) for line in lines))
        trying.cancel()
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
        assert not await after.may("publish", "evt.v1.t.trial.requested")
    assert not await _is_let_in(own_server, "registry", kept)


async def test_another_operator_vouches_and_nobody_needs_another_key(own_server: NatsServer) -> None:
    keys = own_server.keys
    before = (keys.directory / "operator.jwt").read_text()
    worker = _badge(own_server, "w-1", new_seed(KeyKind.USER, os.urandom(32)))
    kept = own_server.home.root / "kept.creds"
    kept.write_text(keys.credentials("registry").read_text())
    rotate_operator(keys.directory, SystemClock().now())
    assert (keys.directory / "operator.jwt").read_text() != before
    own_server.stop()
    own_server.prepare()
    own_server.start()
    own_server.wait_ready()
    async with connected(own_server, "registry", kept) as registry:
        assert await registry.may("publish", "evt.v1.t.validation.stored")
    assert await _is_let_in(own_server, "w-1", worker)


async def test_services_and_workers_go_over_to_other_keys_and_the_former_count_no_more(
    own_server: NatsServer,
) -> None:
    keys, now = own_server.keys, SystemClock().now()
    kept = own_server.home.root / "old.creds"
    kept.write_text(keys.credentials("registry").read_text())
    seed = new_seed(KeyKind.USER, os.urandom(32))
    worker = _badge(own_server, "w-1", seed)
    rotate_account(keys.directory, now)
    with pytest.raises(Conflict, match="is not finished"):
        rotate_account(keys.directory, now)
    _read_again(own_server)
    renewed = _badge(own_server, "w-2", seed)
    for identity, credentials in (
        ("registry", kept),
        ("registry", keys.credentials("registry")),
        ("w-1", worker),
        ("w-2", renewed),
    ):
        await eventually(partial(_is_let_in, own_server, identity, credentials))
    async with connected(own_server, "registry", kept) as before:
        assert retire(keys.directory, now) and not retire(keys.directory, now)
        _read_again(own_server)
        await eventually(lambda: before.client.is_closed)
    assert not await _is_let_in(own_server, "registry", kept)
    assert not await _is_let_in(own_server, "w-1", worker)
    assert await _is_let_in(own_server, "registry", keys.credentials("registry"))
    assert await _is_let_in(own_server, "w-2", renewed)


@pytest.mark.parametrize("runs_here", [True, False])
async def test_of_a_bus_that_runs_elsewhere_it_is_said_what_to_do_and_nothing_here_starts_with_keys_that_it_does_not_know(
    own_server: NatsServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs_here: bool,
) -> None:
    home, keys = tmp_path / "home", own_server.keys
    home.mkdir()
    monkeypatch.setenv("MUSTER_HOME", str(home))
    monkeypatch.setenv("MUSTER_KEYS", str(keys.directory))
    monkeypatch.setenv("MUSTER_NATS__URL", own_server.url)
    service = await asyncio.create_subprocess_exec("sleep", "600")
    running, me = Part("registry", "service", "running", ProcessId.of(service.pid)), ProcessId.of(os.getpid())
    assert me is not None
    if runs_here:
        parts = (Part("nats", "server", "external"), running)
        State("ready", me, parts=parts).save(home)
    kept = home / "old.creds"
    kept.write_text(keys.credentials("registry").read_text())
    try:
        await asyncio.to_thread(rotate_signing, "account", as_json=False)
        said = capsys.readouterr().out
        assert str(keys.server_conf) in said and "then restart the services" in said
        assert ("`muster up`" in said) is runs_here
        assert service.returncode is None, "it goes on with the credentials that the bus knows"
        assert await _is_let_in(own_server, "registry", kept)
        assert not await _is_let_in(own_server, "registry", keys.credentials("registry"))
        _read_again(own_server)
        await eventually(lambda: _is_let_in(own_server, "registry", keys.credentials("registry")))
        await asyncio.to_thread(finish_account, as_json=False)
        assert "reload" in capsys.readouterr().out
        _read_again(own_server)
        await eventually(lambda: _is_shut_out(own_server, kept))
    finally:
        service.kill()
        await service.wait()


async def _is_shut_out(server: NatsServer, credentials: Path) -> bool:
    return not await _is_let_in(server, "registry", credentials)


async def test_what_the_accounts_own_key_signs_does_not_count(own_server: NatsServer) -> None:
    """Whoever steals it gets in nowhere: it is the account's name, and could not be changed."""
    seed = new_seed(KeyKind.USER, os.urandom(32))
    claims = decode(own_server.keys.credentials("admin").read_text().splitlines()[1])
    nats = {name: value for name, value in claims["nats"].items() if name != "issuer_account"}  # type: ignore[union-attr]
    account = (own_server.keys.directory / "account.seed").read_text().strip()
    for more in ({}, {"issuer_account": public_key(account)}):
        token = encode({"sub": public_key(seed), "name": "admin", "nats": {**nats, **more}}, account)
        stolen = own_server.home.root / "stolen.creds"
        stolen.write_text(credentials_text(token, seed))
        assert not await _is_let_in(own_server, "admin", stolen)


async def test_a_probe_names_a_permission_that_the_credentials_lack(own_server: NatsServer) -> None:
    """As with credentials of a release whose services did not publish what this one's do."""
    keys = own_server.keys
    async with await Bus.connect(own_server.url, "admin", keys.credentials("admin")) as operator:
        await ensure_bus(operator.jetstream)
    async with await Bus.connect(own_server.url, "gateway", keys.credentials("gateway")) as bus:
        assert await bus.probe("gateway") is None
        why = await bus.probe("registry")
        assert why is not None and "muster keys init" in why and "permissions violation" in why
