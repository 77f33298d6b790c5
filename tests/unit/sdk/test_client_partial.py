"""A client that asks for some fields alone: what it was shown is there, and nothing else is taken for absent."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from muster.client.async_client import AsyncClient
from muster.client.client import Client
from muster.client.http.transport import Transport
from muster.client.settings import Address
from muster.errors import Broken
from tests.unit.sdk.shell import EXPERIMENT, ID

SHOWN: dict[str, Any] = {"id": ID, "number": 31, "best": {"value": 0.98}, "created_at": "2026-01-01T00:00:00Z", "labels": ["a"]}  # fmt: skip


def client_of(shown: Any, seen: list[httpx.Request]) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        body = EXPERIMENT if request.method != "GET" or "fields" not in request.url.params else shown
        return httpx.Response(200, json=body)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Client(Transport(Address("http://platform", "token", "a test"), http, sleep=lambda _: None))


def test_what_was_asked_for_is_there_typed_and_nothing_else() -> None:
    seen: list[httpx.Request] = []
    client = client_of({"items": [SHOWN], "next_cursor": None}, seen)
    (found,) = client.only("id", "number", "best.value", "created_at", "labels").experiments.list().all()
    assert seen[0].url.params["fields"] == "id,number,best.value,created_at,labels"
    assert (found.id, found.number, found.labels) == (UUID(ID), 31, ["a"])
    assert found.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.best is not None and found.best.value == 0.98
    asks: list[Callable[[], Any]] = [lambda: found.state, lambda: found.forked_from, lambda: found.best.step]  # type: ignore[union-attr]
    for ask in asks:
        with pytest.raises(AttributeError):
            ask()
    assert "forked_from" not in repr(found), "what has a default is not shown with it"


def test_what_is_absent_is_none_and_what_is_not_as_the_model_says_is_told() -> None:
    client = client_of({"number": 31, "best": None}, []).only("number", "best")
    assert client.experiments.get(31).best is None
    with pytest.raises(Broken, match="update `muster`"):
        client_of({"number": "many"}, []).only("number").experiments.get(31)


def test_the_client_that_it_comes_of_and_what_changes_something_are_as_before() -> None:
    seen: list[httpx.Request] = []
    client = client_of(SHOWN, seen)
    narrow = client.only("number")
    assert client.experiments.get(31).state == "completed"
    assert narrow.experiments.pause(31).state == "completed"
    assert all("fields" not in request.url.params for request in seen)


async def test_the_asynchronous_client_does_the_same() -> None:
    client = AsyncClient(client_of(SHOWN, []))
    found = await client.only("number", "labels").experiments.get(31)
    assert found.number == 31 and not hasattr(found, "state")
