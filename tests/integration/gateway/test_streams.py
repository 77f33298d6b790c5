"""Events as they happen, by SSE and by gRPC, and across reconnects."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc.aio
import httpx
import orjson
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.ids import DEFAULT_TENANT, SITE
from shared.messages.instances import InstanceChanged, ProviderChanged
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, start_replica, stop_gateway
from tests.integration.gateway.seeding import trial_changed
from tests.integration.gateway.test_experiments import changed, create
from tests.support.waiting import TIMEOUT_S


class Events:
    """An open SSE stream: blocks as dictionaries of their fields."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> dict[str, str]:
        block: dict[str, str] = {}
        async with asyncio.timeout(TIMEOUT_S):
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


async def test_machines_and_pools_are_streamed_apart_to_who_sees_the_cluster(
    api: httpx.AsyncClient, others: Others
) -> None:
    pool, elsewhere = f"pool-{uuid4()}", "another"
    made = await create(api)
    known = {"version": 1, "driver": "aws", "slots": 1, "state": "joining", "worker": "w-1"}
    one = InstanceChanged.model_validate(known | {"instance_id": uuid4(), "pool": pool})
    other = one.model_copy(update={"instance_id": uuid4(), "pool": elsewhere})
    bounds = {"version": 7, "driver": "aws", "minimum": 0, "maximum": 4, "slots_per_instance": 1}
    grows = ProviderChanged.model_validate(bounds | {"pool": pool, "instances": 1, "fault": "quota"})
    async with events(api, "/v1/machine-events", params={"pool": pool}) as stream, events(api) as own:
        begin, _ = (await stream.next())["id"], await own.next()
        await others.announce("provisioner", SITE, other, one, one, grows)
        first, second = [orjson.loads((await stream.next())["data"]) for _ in range(2)]
        await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))
        assert orjson.loads((await own.next())["data"])["kind"] == "experiment", (
            "no tenant's feed has machines"
        )
    told = {
        (one["kind"], one["version"], one["resource"].get("state"), one["resource"].get("fault"))
        for one in (first, second)
    }
    assert told == {("instance", 1, "joining", None), ("provider", 7, None, "quota")}
    asked = {"pool": pool, "kind": "provider", "after": begin}
    async with events(api, "/v1/machine-events", params=asked) as again:
        await again.next()
        assert orjson.loads((await again.next())["data"])["kind"] == "provider"
    refused = await api.get("/v1/machine-events", params={"after": str(10**9)})
    assert (refused.status_code, refused.json()["code"]) == (400, "cursor_invalid")


async def test_grpc_streams_the_same_events(gateway: Gateway, api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)
    metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        call = stub.WatchEvents(
            muster_pb2.WatchEventsRequest(experiment=made["id"]), metadata=metadata, timeout=TIMEOUT_S
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
            timeout=TIMEOUT_S,
        )
        assert (await again.read()).version == 2
        again.cancel()


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
