"""Driving a search through the SDK: each event is answered whole, in order, and once; what was cut off comes again."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from muster.client.client import Client
from muster.client.http.transport import Transport
from muster.client.settings import Address
from muster.errors import Conflict, Rejected
from tests.unit.sdk.shell import ID, Shell

EVENTS = [
    {"number": 2, "kind": "created", "key": "a"},
    {"number": 2, "kind": "created", "key": "b"},
    {"number": 5, "kind": "validation", "key": "a", "at": 1.0, "value": 0.5},
    {"number": 9, "kind": "ended", "key": "a", "state": "stopped", "value": 0.5},
]
OVER = {"code": "experiment_is_completed", "type": "urn:muster:error:conflict", "status": 409, "detail": "it is over"}  # fmt: skip


class Platform:
    """Holds events and what is acknowledged, and keeps every body that it was told; `pages`: so many events in one answer."""

    def __init__(self, pages: int = 100) -> None:
        self.pages = pages
        self.acknowledged = 0
        self.told: list[dict[str, Any]] = []
        self.is_over = False
        self.refusal: httpx.Response | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return self._tell(json.loads(request.content))
        after = int(request.url.params.get("after", self.acknowledged))
        behind = [event for event in EVENTS if int(str(event["number"])) > after]
        items = [event | {"time": "2026-01-01T00:00:00Z"} for event in behind[: self.pages]]
        while len(items) < len(behind) and behind[len(items)]["number"] == items[-1]["number"]:
            items.append(behind[len(items)] | {"time": "2026-01-01T00:00:00Z"})
        page = {
            "items": items,
            "after": items[-1]["number"] if items else after,
            "acknowledged": self.acknowledged,
            "over": len(items) == len(behind),
        }
        return httpx.Response(200, json=page)

    def _tell(self, body: dict[str, Any]) -> httpx.Response:
        if self.is_over and body["operations"]:
            return httpx.Response(409, json=OVER, headers={"content-type": "application/problem+json"})
        if self.refusal is not None and body["operations"]:
            return self.refusal
        self.told.append(body)
        self.acknowledged = max(self.acknowledged, body.get("acknowledge", 0))
        return httpx.Response(200, json={"experiment": ID, "experiment_number": 31})

    def client(self) -> Client:
        http = httpx.Client(transport=httpx.MockTransport(self))
        return Client(Transport(Address("http://platform", "secret", "a test"), http))


def said(platform: Platform) -> list[tuple[list[str], int | None]]:
    """Verbs and keys of each tell, with what it acknowledged."""
    return [
        ([" ".join(str(each.get(name, "")) for name in ("verb", "key")).strip() for each in body["operations"]], body.get("acknowledge"))
        for body in platform.told
    ]  # fmt: skip


@pytest.mark.parametrize("pages", [1, 2, 100])
def test_each_turn_sends_its_answer_with_its_acknowledgement(pages: int) -> None:
    platform = Platform(pages)
    search = platform.client().drive(31, driver="me")
    search.create("a", {"lr": 0.1}, until=1)
    search.create("b", until=1)
    for event in search.events():
        if event.kind == "validation":
            search.stop(event.key)
        elif event.kind == "ended":
            search.shutdown("enough")
    assert said(platform) == [
        (["create a", "create b"], None),
        ([], 1),  # two happened at once: only the second is the end of number 2
        ([], 2),
        (["stop a"], 5),
        (["shutdown"], 9),
    ]
    assert platform.told[0]["operations"][0] == {
        "verb": "create", "key": "a", "hyperparameters": {"lr": 0.1}, "until": 1,
    }  # fmt: skip
    assert platform.told[0]["driver"] == "me"


def test_a_program_begun_anew_gets_the_first_event_that_was_not_answered() -> None:
    platform = Platform()
    for event in platform.client().drive(31).events():
        if event.kind == "validation":
            break  # killed before the turn was over
    assert platform.acknowledged == 2
    again = platform.client().drive(31)
    assert [(event.number, event.key) for event in again.history()] == [(2, "a"), (2, "b")]
    assert [event.number for event in again.events()] == [5, 9]


def test_what_comes_too_late_for_a_search_that_is_over_is_let_go() -> None:
    platform = Platform()
    platform.is_over = True
    search = platform.client().drive(31)
    search.create("a")
    for event in search.events():
        search.go_on(event.key, until=3)
    assert said(platform) == [([], 1), ([], 2), ([], 5), ([], 9)]


def test_a_refusal_ends_the_loop_and_nothing_is_acknowledged() -> None:
    platform = Platform()
    problem = {"type": "urn:muster:error:rejected", "code": "unknown_key", "status": 422, "detail": "no such"}
    platform.refusal = httpx.Response(422, json=problem, headers={"content-type": "application/problem+json"})
    search = platform.client().drive(31)
    first = next(events := search.events())
    search.stop(first.key)
    with pytest.raises(Rejected):
        next(events)
    assert platform.told == []
    taken = {"type": "urn:muster:error:conflict", "code": "key_taken", "status": 409, "detail": "taken"}
    platform.refusal = httpx.Response(409, json=taken, headers={"content-type": "application/problem+json"})
    search = platform.client().drive(31)
    search.create("a")
    with pytest.raises(Conflict):
        next(search.events())


def test_a_program_that_is_async_drives_in_the_same_way() -> None:
    platform = Platform()

    async def drive() -> list[int]:
        search = platform.client().drive_async(31)
        assert await search.history() == []
        search.create("a")
        seen = []
        async for event in search.events():
            seen.append(event.number)
            if event.kind == "validation":
                search.go_on(event.key)
        return seen

    assert asyncio.run(drive()) == [2, 2, 5, 9]
    assert said(platform) == [(["create a"], None), ([], 1), ([], 2), (["go_on a"], 5), ([], 9)]


def test_the_command_line_shows_who_drives(shell: Shell) -> None:
    found = {"experiment": ID, "experiment_number": 31, "acknowledged": 4}
    shell.answers["GET /v1/experiments/31/search"] = httpx.Response(200, json=found)
    shown = shell("experiment", "search", "31")
    assert shown.code == 0 and "none yet" in shown.out and "0 events" in shown.out
    seen = found | {"driver": "host:7", "seen_at": "2026-01-01T00:00:00Z", "waiting": 1}
    shell.answers["GET /v1/experiments/31/search"] = httpx.Response(200, json=seen)
    shown = shell("experiment", "search", "31")
    assert "host:7" in shown.out and "1 event" in shown.out and "events" not in shown.out
    assert json.loads(shell("experiment", "search", "31", "--json").out)["waiting"] == 1
