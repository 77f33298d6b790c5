"""Google's keys come over TLS, from who has a certificate of an authority that is trusted here, and from nobody else."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import time

import pytest
from aiohttp import ClientSession, TCPConnector, web

from services.provisioner.drivers.gcp.identity import ISSUER, GcpIdentity, keys_at
from shared.clock import SystemClock
from shared.errors import Transient
from tests.support.oidc_provider import SigningKey
from tests.support.test_ca import HERE, Authority, authority

PLATFORM = "https://muster.example"
KEY = SigningKey("one")
OURS, STRANGERS = authority("ours"), authority("strangers")


async def test_keys_are_had_from_who_can_show_a_certificate(tmp_path: Path) -> None:
    async with _google(OURS, tmp_path) as place, _trusting(OURS) as session:
        identity = GcpIdentity("research", PLATFORM, keys_at(place, session, SystemClock()))
        assert await identity.machine_of(_token(), "") == "us-central1-a/w-1"


async def test_keys_of_a_stranger_let_nobody_in(tmp_path: Path) -> None:
    async with _google(STRANGERS, tmp_path) as place, _trusting(OURS) as session:
        identity = GcpIdentity("research", PLATFORM, keys_at(place, session, SystemClock()))
        with pytest.raises(Transient, match="certificate"):
            await identity.machine_of(_token(), "")


def _token() -> str:
    machine = {"project_id": "research", "zone": "us-central1-a", "instance_name": "w-1"}
    now = int(time())
    claims = {"iss": ISSUER, "aud": PLATFORM, "sub": "1234", "iat": now, "exp": now + 3600}
    return KEY.sign(claims | {"google": {"compute_engine": machine}})


def _trusting(one: Authority) -> ClientSession:
    trusted = ssl.create_default_context(cadata=one.pem.decode())
    return ClientSession(connector=TCPConnector(ssl=trusted))


@asynccontextmanager
async def _google(signer: Authority, folder: Path) -> AsyncIterator[str]:
    """Shows its keys, on a port of its own."""

    async def show(_: web.Request) -> web.Response:
        return web.json_response({"keys": [KEY.document]})

    pair = folder / "pair.pem"
    pair.write_bytes(b"".join(signer.issue(HERE)))
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(pair)
    application = web.Application()
    application.router.add_get("/certs", show)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=own).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}/certs"
    finally:
        await runner.cleanup()
