"""A real gateway process over real servers; the other services answer as the tests tell them to."""

import asyncio
import os
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.embedded.host.ports import free_ports
from shared.bus import Bus, RequestContext, Responder
from shared.bus.envelope import Envelope
from shared.clock import SystemClock
from shared.errors import NotFound
from shared.ids import TenantId, new_id
from shared.messages import experiments
from shared.messages.base import Event
from shared.messages.queue import Placeable, ValidatePlacement
from tests.integration.gateway.questions import QUESTIONS
from tests.integration.servers import LOADED_S, Servers
from tests.support import warm
from tests.support.waiting import TIMEOUT_S, eventually
from tests.support.warm import Warm

SIGN_IN = """\
providers:
  here: {tenant: default, issuer: "http://127.0.0.1:1/here", client_id: muster}
  there: {tenant: globex, issuer: "http://127.0.0.1:1/there", client_id: muster}
"""
"""Providers of two tenants, neither of which is there to be asked."""
ROOT = Path(__file__).resolve().parents[3]
Answer = Callable[[RequestContext, Any], Awaitable[Any]]


@cache
def trusted_by_all() -> ssl.SSLContext:
    """Whom everybody trusts; reading it anew for each client takes longer than most requests."""
    return ssl.create_default_context()


@dataclass
class Gateway:
    """A running gateway process."""

    url: str
    grpc_address: str
    admin_token: str
    process: Warm
    directory: Path
    log: Path
    pepper: bytes = b""

    def client(self, token: str | None = None, **options: Any) -> httpx.AsyncClient:
        """A REST client with a token; `""` sends none."""
        token = self.admin_token if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        options = {"verify": trusted_by_all(), **options}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=TIMEOUT_S, **options)


@dataclass
class Others:
    """The other services: what they answer, what they were asked, and what they announce."""

    buses: dict[str, Bus]
    answers: dict[type, Answer] = field(default_factory=dict)
    asked: list[tuple[RequestContext, Any]] = field(default_factory=list)

    async def answer(self, ask: RequestContext, query: Any) -> Any:
        self.asked.append((ask, query))
        found = self.answers.get(type(query))
        if found is None:
            raise NotFound("what was asked for")
        return await found(ask, query)

    def say(self, question: type, reply: Any) -> None:
        """From now on `question` is answered so; an exception is raised."""

        async def answer(ask: RequestContext, query: Any) -> Any:
            if isinstance(reply, Exception):
                raise reply
            return reply(ask, query) if callable(reply) else reply

        self.answers[question] = answer

    async def announce(self, owner: str, tenant: TenantId, *events: Event) -> None:
        """Publishes events as their owner does."""
        bus = self.buses[owner]
        for event in events:
            envelope = Envelope(new_id(SystemClock()), event.TYPE, event.VERSION, tenant)
            await bus.jetstream_publisher.publish(
                event.subject(tenant), event.to_bytes(), timeout=LOADED_S, headers=envelope.to_headers()
            )


@pytest.fixture(scope="module")
async def others(servers: Servers, nats_server: object) -> AsyncIterator[Others]:
    """Stand-ins for searcher, scheduler and registry, with their own credentials."""
    buses = {
        owner: await Bus.connect(servers.nats.url, owner, servers.keys.credentials(owner))
        for owner in (*QUESTIONS, "admin")
    }
    found = Others(buses)
    found.say(experiments.ValidateConfig, experiments.Accepted())
    found.say(ValidatePlacement, Placeable())
    responders = [
        await Responder(buses[owner], owner, dict.fromkeys(questions, found.answer)).__aenter__()
        for owner, questions in QUESTIONS.items()
    ]
    yield found
    for responder in responders:
        await responder.__aexit__()
    for bus in buses.values():
        await bus.close()


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """A gateway of the module's own."""
    found = await start_gateway(settings("gateway"), tmp_path_factory.mktemp("gateway"))
    yield found
    await stop_gateway(found)


@pytest.fixture(scope="module")
async def quick(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """A gateway that waits for no owner and bounds nobody's rate, with something in it, to be asked whatever can be asked."""
    found = await start_gateway(
        settings("gateway"),
        tmp_path_factory.mktemp("quick"),
        MUSTER_GATEWAY__COMMAND_WAIT_S="0.01",
        MUSTER_GATEWAY__STREAMS_PER_S="2000",
        MUSTER_GATEWAY__JOINS_PER_S="2000",
    )
    yield found
    await stop_gateway(found)


async def start_gateway(
    environment: dict[str, str], directory: Path, trusted: str | None = None, **more: str
) -> Gateway:
    """With `trusted`, the authority of its certificate, it is asked by https."""
    rest, rpc, side = free_ports(3)
    token_file = directory / "admin.token"
    sign_in = directory / "sign-in.yaml"
    if not sign_in.exists():
        sign_in.write_text(SIGN_IN)
    own = {
        "MUSTER_GATEWAY__PORT": str(rest),
        "MUSTER_GATEWAY__GRPC_PORT": str(rpc),
        "MUSTER_GATEWAY__ADMIN_TOKEN_FILE": str(token_file),
        "MUSTER_GATEWAY__SIGN_IN_FILE": str(sign_in),
        "MUSTER_GATEWAY__BODY_TIMEOUT_S": "1.0",
        "MUSTER_GATEWAY__WRITES_PER_S": "2000",
        "MUSTER_GATEWAY__READS_PER_S": "5000",
        "MUSTER_GATEWAY__COMMAND_WAIT_S": "3.0",
        "MUSTER_GATEWAY__PASSWORD_MEMORY_KIB": "12288",  # the least: people sign in hundreds of times
        "MUSTER_SIDE__PORT": str(side),
        "PATH": os.environ["PATH"],
    }
    log = directory / "gateway.log"
    with log.open("ab") as output:
        process = await warm.start("services.gateway", environment | own | more, errors=output)
    scheme, verify = "http", trusted_by_all()
    if trusted is not None:
        scheme, verify = "https", ssl.create_default_context(cadata=trusted)
    found = Gateway(f"{scheme}://127.0.0.1:{rest}", f"127.0.0.1:{rpc}", "", process, directory, log)

    async def answers() -> bool:
        assert process.returncode is None, log.read_text()
        try:
            async with httpx.AsyncClient(verify=verify) as client:
                return (await client.get(f"{found.url}/v1/health")).status_code == 200
        except httpx.TransportError:
            return False

    await eventually(answers)
    found.admin_token = token_file.read_text().strip()
    return found


async def start_replica(
    gateway: Gateway, environment: dict[str, str], directory: Path, **more: str
) -> Gateway:
    """Another process on the same database, with the same secrets."""
    for name in ("admin.token", "gateway.pepper"):
        (directory / name).write_text((gateway.directory / name).read_text())
    return await start_gateway(environment, directory, **more)


async def stop_gateway(gateway: Gateway) -> None:
    if gateway.process.returncode is None:
        gateway.process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(gateway.process.wait(), TIMEOUT_S) == 0, gateway.log.read_text()


@pytest.fixture
async def api(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """The administrator's REST client."""
    async with gateway.client() as client:
        yield client
