"""Where posts go: judged behind all names, at the socket that is connected."""

import socket
from ipaddress import ip_network
from typing import Any

import pytest

from services.gateway.platform.outbound.client import INTERNAL_ADDRESS
from services.gateway.webhooks.core import DeliveryAttempt
from services.gateway.webhooks.posting import WebhookPoster
from tests.integration.gateway.receiving import receiving

Answers = dict[str, list[list[str]]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """What names resolve to, one answer after the other; the last stays."""
    answers: Answers = {}
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        found = answers.get(host)
        # A name is no number: what asks for numbers alone must not hear what the name would lead to.
        if found is None or more.get("flags", 0) & socket.AI_NUMERICHOST:
            return real(host, port, *args, **more)
        now = found.pop(0) if len(found) > 1 else found[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers


async def test_a_name_that_leads_inside_reaches_nothing_however_often_it_changes(
    names: Answers,
) -> None:
    async with receiving() as receiver:
        port = receiver.url.rpartition(":")[2]
        for at, answers in enumerate(
            ([["127.0.0.1"]], [["10.255.255.1", "127.0.0.1"]], [["192.0.2.1"], ["127.0.0.1"]])
        ):
            host = f"rebinding{at}.example"
            names[host] = answers
            async with WebhookPoster((), 2.0) as poster:
                for scheme in ("http", "https"):
                    for _ in range(2):
                        found = await poster.post(f"{scheme}://{host}:{port}/", {}, b"x")
                        assert found == DeliveryAttempt(error=INTERNAL_ADDRESS), host
        assert receiver.got == []
        names["allowed.example"] = [["127.0.0.1"]]
        async with WebhookPoster((ip_network("127.0.0.0/8"),), 2.0) as poster:
            assert (await poster.post(f"http://allowed.example:{port}/", {}, b"x")).status == 204


async def test_trouble_says_nothing_of_what_is_inside(names: Answers) -> None:
    names["closed.example"] = [["127.0.0.1"]]
    async with WebhookPoster((ip_network("127.0.0.0/8"),), 2.0) as poster:
        closed = await poster.post("http://closed.example:1024/", {}, b"x")
        assert closed == DeliveryAttempt(error="the connection failed or was closed")
        nowhere = await poster.post("https://nowhere.invalid/", {}, b"x")
        assert nowhere == DeliveryAttempt(error="the host name could not be resolved")
