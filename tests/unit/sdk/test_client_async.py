"""The asynchronous client has all that the synchronous one has, and does the same."""

import asyncio
import inspect
import json
import threading
from collections.abc import Callable

import httpx
import pytest

from muster.client.async_client import AsyncClient
from muster.client.async_resources import AsyncAPIResource, AsyncItems
from muster.client.client import Client
from muster.client.http.transport import Transport
from muster.client.settings import Address
from muster.errors import NotFound
from tests.unit.sdk.shell import EXPERIMENT, ID, TRIAL


def clients(answer: Callable[[httpx.Request], httpx.Response]) -> tuple[Client, AsyncClient]:
    http = httpx.Client(transport=httpx.MockTransport(answer))
    client = Client(Transport(Address("http://platform", "token", "a test"), http, sleep=lambda _: None))
    return client, AsyncClient(client)


def verbs(noun: object) -> set[str]:
    return {name for name, _ in inspect.getmembers(noun, callable) if not name.startswith("_")}


def test_every_noun_has_every_verb_with_its_page() -> None:
    client, derived = clients(lambda request: httpx.Response(500))
    nouns = [name for name in vars(client) if name != "address" and not name.startswith("_")]
    assert "experiments" in nouns and "roles" in nouns
    for name in nouns:
        noun, other = getattr(client, name), getattr(derived, name)
        assert isinstance(other, AsyncAPIResource) and verbs(other) == verbs(noun), name
        assert all(getattr(other, verb).__doc__ == getattr(noun, verb).__doc__ for verb in verbs(noun))
    assert verbs(derived) == verbs(client) - {"drive_async"}


async def test_calls_lists_and_streams_are_awaited() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/trials"):
            following = None if request.url.params.get("cursor") else "more"
            return httpx.Response(200, json={"items": [TRIAL], "next_cursor": following})
        if request.url.path.endswith("/follow"):
            line = json.dumps(
                {
                    "trial": ID,
                    "trial_number": 2,
                    "run": 1,
                    "rank": 0,
                    "time": "2026-01-01T00:00:00Z",
                    "text": "hello",
                }
                | {"stream": "stdout", "cursor": "c"}
            )
            return httpx.Response(
                200,
                text=f"data: {line}\n\nevent: end\ndata: \n\n",
                headers={"content-type": "text/event-stream"},
            )
        return httpx.Response(200, json=EXPERIMENT)

    async with clients(answer)[1] as client:
        found = await client.experiments.wait(31, timeout_s=5)
        assert (found.number, found.state) == (31, "completed")
        listed = client.trials.list(31, best_first=True)
        assert isinstance(listed, AsyncItems)
        assert (
            [trial.number async for trial in listed]
            == [trial.number for trial in await listed.all()]
            == [2, 2]
        )
        assert len(await listed.first(1)) == 1
        assert [line.text async for line in client.experiments.follow_logs(31)] == ["hello"]


async def test_a_call_that_takes_long_holds_up_nothing_else() -> None:
    is_let_go = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/1"):
            assert is_let_go.wait(30)
        return httpx.Response(200, json=EXPERIMENT)

    async with clients(answer)[1] as client:
        slow = asyncio.create_task(_get(client, 1))
        await client.experiments.get(2)
        assert not slow.done()
        is_let_go.set()
        assert await slow == 31


async def test_what_is_refused_is_raised() -> None:
    problem = {"type": "urn:muster:error:rejected", "code": "not_found", "detail": "it was not found"}
    headers = {"content-type": "application/problem+json"}
    async with clients(lambda request: httpx.Response(404, json=problem, headers=headers))[1] as client:
        with pytest.raises(NotFound):
            await client.trials.get("31.9")


async def _get(client: AsyncClient, number: int) -> int:
    return (await client.experiments.get(number)).number
