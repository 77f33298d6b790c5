"""Events and logs as they happen, by SSE and by gRPC, and across reconnects."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import grpc.aio
import httpx
import orjson
import pytest

from services.gateway.rpc.stubs import muster_pb2, muster_pb2_grpc
from shared.ids import DEFAULT_TENANT
from shared.messages.logs import FoundLine, FoundLines, GetLogs, LogPage, SearchLogs, StoredLine
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, start_replica, stop_gateway
from tests.integration.gateway.seeding import trial_changed
from tests.integration.gateway.test_experiments import changed, create
from tests.support.waiting import PATIENCE_S, eventually


class Events:
    """An open SSE stream: blocks as dictionaries of their fields."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> dict[str, str]:
        block: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE_S):
            async for line in self._lines:
                if not line and block:
                    return block
                name, _, value = line.partition(": ")
                if name:
                    block[name] = value
        raise AssertionError("the stream ended")


@asynccontextmanager
async def events(api: httpx.AsyncClient, path: str = "/v1/events", **more: Any) -> AsyncIterator[Events]:
    async with api.stream("GET", path, **more) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Events(answer.aiter_lines())


async def test_a_change_is_streamed_at_once(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    async with events(api) as stream:
        first = await stream.next()
        assert first["id"].isdecimal() and "data" not in first
        await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
        block = await stream.next()
    event = orjson.loads(block["data"])
    assert block["event"] == event["kind"] == "experiment" and event["entity"] == made["id"]
    assert int(block["id"]) == int(first["id"]) + 1 and event["resource"]["state"] == "active"


async def test_nothing_is_lost_or_doubled_across_reconnects(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    async with events(api) as stream:
        last = (await stream.next())["id"]
    seen: list[int] = []

    async def announce() -> None:
        for version in range(1, 61):
            await others.announce("searcher", DEFAULT_TENANT, changed(made, version))
            await asyncio.sleep(0.005)

    announcing = asyncio.create_task(announce())
    while len(seen) < 60 and (not seen or seen[-1] < 60):
        async with events(api, headers={"Last-Event-ID": last}, params={"experiment": made["id"]}) as stream:
            for _ in range(7):
                block = await stream.next()
                last = block["id"]
                if "data" in block:
                    seen.append(orjson.loads(block["data"])["version"])
                if seen and seen[-1] == 60:
                    break
    await announcing
    assert seen == sorted(set(seen)) and seen[-1] == 60
    assert seen == list(range(1, 61))


async def test_filters_narrow_the_events(api: httpx.AsyncClient, others: Others) -> None:
    one, two = await create(api), await create(api)
    async with events(api, params={"experiment": two["id"], "kind": ["trial"]}) as stream:
        await stream.next()
        await others.announce("searcher", DEFAULT_TENANT, changed(one, 1), changed(two, 1))
        await others.announce("searcher", DEFAULT_TENANT, trial_changed(one, 1), trial_changed(two, 3))
        event = orjson.loads((await stream.next())["data"])
    assert event["kind"] == "trial" and event["experiment"] == two["id"] and event["resource"]["number"] == 3


async def test_grpc_streams_the_same_events(gateway: Gateway, api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        call = stub.WatchEvents(
            muster_pb2.WatchEventsRequest(experiment=made["id"]), metadata=metadata, timeout=PATIENCE_S
        )
        position = dict(await call.initial_metadata())["last-event-id"]
        await others.announce("searcher", DEFAULT_TENANT, changed(made, 1), changed(made, 2, progress=0.25))
        first, second = await call.read(), await call.read()
        assert (
            first.kind == muster_pb2.EVENT_KIND_EXPERIMENT
            and first.version == 1
            and int(first.id) > int(position)
        )
        assert dict(second.resource)["progress"] == 0.25
        call.cancel()
        again = stub.WatchEvents(
            muster_pb2.WatchEventsRequest(after=first.id, experiment=made["id"]),
            metadata=metadata,
            timeout=PATIENCE_S,
        )
        assert (await again.read()).version == 2
        again.cancel()


class Log:
    """The registry's log of some trials."""

    def __init__(self) -> None:
        self.lines: dict[UUID, list[str]] = {}
        self.ended: set[UUID] = set()

    def page(self, ask: Any, query: GetLogs) -> LogPage:
        lines = self.lines.get(query.trial_id, [])
        after = query.after if query.tail is None else max(query.after, len(lines) - query.tail)
        shown = lines[after : after + query.limit]
        stored = tuple(
            StoredLine(
                cursor=after + index + 1,
                run_number=1,
                rank=0,
                stream="stdout",
                time_ms=1_700_000_000_000,
                text=text,
            )
            for index, text in enumerate(shown)
        )
        ended = query.trial_id in self.ended and after + len(shown) == len(lines)
        return LogPage(lines=stored, next=after + len(shown), ended=ended)


async def with_trials(api: httpx.AsyncClient, others: Others, count: int) -> tuple[dict[str, Any], list[Any]]:
    made = await create(api)
    trials = [trial_changed(made, number) for number in range(1, count + 1)]
    await others.announce("searcher", DEFAULT_TENANT, *trials)

    async def shown() -> bool:
        found = await api.get(f"/v1/experiments/{made['id']}/trials")
        return len(found.json()["items"]) == count

    await eventually(shown)
    return made, trials


async def test_a_log_is_paged_and_followed_to_its_end(api: httpx.AsyncClient, others: Others) -> None:
    made, (trial,) = await with_trials(api, others, 1)
    log = Log()
    log.lines[trial.trial_id] = ["one", "two", "three"]
    others.say(GetLogs, log.page)
    path = f"/v1/trials/{made['number']}.1/logs"
    page = (await api.get(path, params={"limit": 2})).json()
    assert [line["text"] for line in page["items"]] == ["one", "two"]
    rest = (await api.get(path, params={"limit": 2, "cursor": page["next_cursor"]})).json()
    assert [line["text"] for line in rest["items"]] == ["three"]
    end = (await api.get(path, params={"limit": 2, "cursor": rest["next_cursor"]})).json()
    assert end == {"items": [], "next_cursor": None}
    async with events(api, f"{path}/follow", params={"tail": 1}) as stream:
        first = await stream.next()
        assert orjson.loads(first["data"])["text"] == "three"
        log.lines[trial.trial_id].append("four")
        await others.buses["registry"].hint(storage_hint(trial.trial_id, 4), DEFAULT_TENANT)
        assert orjson.loads((await stream.next())["data"])["text"] == "four"
        log.ended.add(trial.trial_id)
        assert (await stream.next())["event"] == "end"
    async with events(api, f"{path}/follow", headers={"Last-Event-ID": first["id"]}) as stream:
        assert orjson.loads((await stream.next())["data"])["text"] == "four"


async def test_a_page_without_lines_is_no_end_where_the_time_was_up(
    api: httpx.AsyncClient, others: Others
) -> None:
    made, (trial,) = await with_trials(api, others, 1)

    def look(ask: Any, query: GetLogs) -> LogPage:
        assert (query.pattern, query.since_ms) == ("rare", 1_767_225_600_000)
        line = StoredLine(cursor=12, run_number=1, rank=0, stream="stdout", time_ms=0, text="rare")
        return LogPage(lines=(line,) if query.after == 10 else (), next=min(query.after + 5, 12))

    others.say(GetLogs, look)
    for path in (f"/v1/trials/{made['number']}.1/logs", f"/v1/experiments/{made['number']}/logs"):
        params, texts = {"pattern": "rare", "since": "2026-01-01T00:00:00Z"}, list[str]()
        while True:
            page = (await api.get(path, params=params)).json()
            texts += [line["text"] for line in page["items"]]
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
        assert texts == ["rare"]
    assert trial.number == 1


async def test_the_last_lines_are_looked_for_until_they_are_found(
    api: httpx.AsyncClient, others: Others
) -> None:
    """The registry answers before it has come to where they begin: it is asked again for those before."""
    made, _ = await with_trials(api, others, 1)
    asked: list[tuple[int, int | None, int | None]] = []

    def look(ask: Any, query: GetLogs) -> LogPage:
        asked.append((query.after, query.tail, query.before))
        if query.tail == 2:
            return LogPage(lines=(), next=0, tail=1, before=500)
        line = StoredLine(cursor=300, run_number=1, rank=0, stream="stdout", time_ms=0, text="rare")
        return LogPage(lines=(line,) if query.tail else (), next=800, ended=query.tail is None)

    others.say(GetLogs, look)
    path = f"/v1/trials/{made['number']}.1/logs"
    for shown in (path, f"/v1/experiments/{made['number']}/logs"):
        params: dict[str, Any] = {"contains": "rare", "tail": 2}
        texts = list[str]()
        while True:
            page = (await api.get(shown, params=params)).json()
            texts += [line["text"] for line in page["items"]]
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
        assert (texts, asked) == (["rare"], [(0, 2, None), (0, 1, 500), (800, None, None)])
        asked.clear()
    async with events(api, f"{path}/follow", params={"contains": "rare", "tail": 2}) as stream:
        assert orjson.loads((await stream.next())["data"])["text"] == "rare"


def storage_hint(trial: UUID, cursor: int) -> Any:
    from shared.messages.base import Hint

    return Hint(entity="logs", id=trial, cursor=cursor)


async def test_an_experiments_log_is_that_of_its_trials(api: httpx.AsyncClient, others: Others) -> None:
    made, trials = await with_trials(api, others, 3)
    log = Log()
    for trial in trials:
        log.lines[trial.trial_id] = [f"{trial.number}.{index}" for index in range(3)]
        log.ended.add(trial.trial_id)
    others.say(GetLogs, log.page)
    texts: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = (await api.get(f"/v1/experiments/{made['number']}/logs", params=params)).json()
        texts += [line["text"] for line in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert texts == [f"{trial}.{index}" for trial in (1, 2, 3) for index in range(3)]
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 5, state="completed", final=True))
    followed: list[str] = []
    async with events(api, f"/v1/experiments/{made['number']}/logs/follow") as stream:
        while "data" in (block := await stream.next()) and block.get("event") != "end":
            followed.append(orjson.loads(block["data"])["text"])
    assert sorted(followed) == texts


async def test_a_gateway_that_goes_down_sends_its_streams_away_soon(
    settings: Callable[[str], dict[str, str]], gateway: Gateway, others: Others, tmp_path: Path
) -> None:
    """Streams are told to come again, and the position they had is good at the other replica."""
    other = await start_replica(gateway, settings("gateway"), tmp_path)
    async with other.client() as api, events(api) as stream:
        last = (await stream.next())["id"]
        stopping = asyncio.create_task(stop_gateway(other))
        block = await stream.next()
        assert block["event"] == "problem" and orjson.loads(block["data"])["code"] == "restarting"
        await stopping
    async with gateway.client() as api, events(api, headers={"Last-Event-ID": last}) as stream:
        made = await create(api)
        await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
        while "data" not in (block := await stream.next()):
            pass
        assert orjson.loads(block["data"])["entity"] == made["id"]


async def test_a_port_in_use_is_told(
    settings: Callable[[str], dict[str, str]], gateway: Gateway, tmp_path: Path
) -> None:
    port = gateway.url.rsplit(":", 1)[1]
    with pytest.raises(AssertionError, match="in use"):
        await start_gateway(
            settings("gateway"), tmp_path, MUSTER_GATEWAY__PORT=port, MUSTER_GATEWAY__GRPC_PORT="0"
        )


async def test_a_search_names_trials_and_goes_on(api: httpx.AsyncClient, others: Others) -> None:
    made, (_, trial) = await with_trials(api, others, 2)
    asked: list[SearchLogs] = []

    def found(ask: Any, query: SearchLogs) -> FoundLines:
        asked.append(query)
        line = FoundLine(
            cursor=7, run_number=1, rank=2, stream="stdout", level="error", time_ms=1_700_000_000_000, text="CUDA",
            trial_id=trial.trial_id, experiment_id=made["id"],
        )  # fmt: skip
        return FoundLines(lines=() if query.after else (line,), next=None if query.after else "there")

    others.say(SearchLogs, found)
    wanted = {"pattern": "CU.A", "level": "warning", "experiment": made["number"], "since": "2026-01-01"}
    page = (await api.get("/v1/logs", params=wanted)).json()
    assert [(one["experiment_number"], one["trial_number"], one["text"]) for one in page["items"]] == [
        (made["number"], 2, "CUDA")
    ]
    rest = (await api.get("/v1/logs", params=wanted | {"cursor": page["next_cursor"]})).json()
    assert rest == {"items": [], "next_cursor": None}
    assert (asked[1].after, asked[1].level, str(asked[1].experiments)) == (
        "there",
        "warning",
        str((UUID(made["id"]),)),
    )
