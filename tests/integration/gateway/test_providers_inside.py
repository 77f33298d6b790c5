"""What vouches for people is asked for outside alone, or in networks that the site names: whatever it describes, and however that is spelled."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from services.gateway.platform.auth.sign_in.providers import Providers
from services.gateway.platform.auth.sign_in.sign_in_file import ProviderSection
from services.gateway.platform.outbound.client import INTERNAL_ADDRESS
from shared.clock import SystemClock
from shared.errors import Transient
from shared.settings import LOOPBACK
from tests.support.addresses import INSIDE_HOSTS
from tests.support.oidc_provider import Issuer


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is connected to from now on, which then fails."""
    found: list[Any] = []

    async def sock_connect(self: Any, sock: socket.socket, address: Any) -> None:
        found.append(address)
        raise OSError("nothing is reached in this test")

    monkeypatch.setattr(
        asyncio.get_event_loop_policy().new_event_loop().__class__, "sock_connect", sock_connect
    )
    return found


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    found = Issuer()
    runner = web.AppRunner(found.application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


def section(issuer: str, *networks: str) -> ProviderSection:
    return ProviderSection.model_validate(
        {"tenant": "default", "issuer": issuer, "audience": "muster-api", "networks": networks}
    )


async def asked(given: ProviderSection, issuer: Issuer | None = None) -> str | None:
    """Why the provider's keys could not be had for a token of a program; None where they were."""
    signer = issuer or Issuer(given.issuer)
    token = signer.keys[0].sign(signer.token("muster-api", iss=given.issuer))
    async with Providers({"one": given}, SystemClock()) as providers:
        try:
            await providers.verify_program(token)
        except Transient as error:
            return error.message
    return None


@pytest.mark.parametrize("host", [host for host in INSIDE_HOSTS if host.strip("[]") not in LOOPBACK])
async def test_no_description_is_fetched_from_inside_however_it_is_spelled(
    host: str, connected: list[Any]
) -> None:
    told = await asked(section(f"https://{host}/realm"))
    assert told is not None and connected == [], (told, connected)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "0xa9fea9fe", "[::ffff:10.0.0.1]", "metadata.example", "sub.metadata.example"]
)
async def test_no_keys_are_fetched_from_inside_whoever_describes_them(
    host: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def look_up(name: Any, port: Any, *args: Any, **more: Any) -> Any:
        if str(name).endswith("metadata.example"):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port))]
        return real(name, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    issuer.keys_at = f"https://{host}/keys"
    told = await asked(section(issuer.url), issuer)
    assert told is not None and "was not called" in told and INTERNAL_ADDRESS in told, told
    assert "`networks`" in told and issuer.asked_for_keys == 0


@pytest.mark.parametrize(
    ("address", "said"),
    [("http://203.0.113.7/keys", "is not an https address"), ("http://localhost/keys", INTERNAL_ADDRESS)],
)
async def test_no_keys_are_fetched_in_the_plain_but_from_this_machine_whatever_its_name_leads_to(
    address: str, said: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def look_up(name: Any, *args: Any, **more: Any) -> Any:
        return real("203.0.113.7" if name == "localhost" else name, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    issuer.keys_at = address
    told = await asked(section(issuer.url), issuer)
    assert told is not None and said in told, told


async def test_a_provider_inside_is_asked_where_the_site_says_so(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of a host leads to this machine, as an internal one does: its network decides."""
    port = int(issuer.url.rpartition(":")[2])
    real = socket.getaddrinfo

    def look_up(name: Any, *args: Any, **more: Any) -> Any:
        return real("127.0.0.1" if name == "id.example" else name, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    issuer.keys_at = f"http://localhost:{port}/keys"
    elsewhere = section(f"https://id.example:{port}", "10.0.0.0/8")
    assert INTERNAL_ADDRESS in (await asked(elsewhere) or "")
    named = await asked(section(f"https://id.example:{port}", "127.0.0.0/8"))
    assert named is not None and INTERNAL_ADDRESS not in named, "it is called, and speaks no TLS"
    assert await asked(section(issuer.url), issuer) is None
    assert issuer.asked_for_keys == 1
