"""Labels of experiments that are there already: changed for those that are named, found and told of at once."""

import asyncio
import json
from typing import Any

import httpx

from services.gateway.platform.schema import MOST_LABELS
from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.audited import recorded
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.sites import user
from tests.integration.gateway.test_experiments import changed, create
from tests.support.waiting import eventually

PATH = "/v1/bulk/experiments/labels"


async def label(api: httpx.AsyncClient, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = await api.post(PATH, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def with_label(api: httpx.AsyncClient, name: str) -> list[int]:
    page = (await api.get("/v1/experiments", params={"filter": f"labels contains {name}"})).json()
    return [one["number"] for one in page["items"]]


async def test_labels_come_and_go_and_the_lists_follow(api: httpx.AsyncClient) -> None:
    first, second, third = [await create(api, labels=["old", "kept"]) for _ in range(3)]
    made = await label(
        api, experiments=[second["id"], str(first["number"])], add=["fresh", "kept"], remove=["old"]
    )
    assert [(one["number"], one["labels"]) for one in made["items"]] == [
        (one["number"], ["kept", "fresh"]) for one in (first, second)
    ]
    assert await with_label(api, "fresh") == [second["number"], first["number"]]
    assert third["number"] in await with_label(api, "old") and first["number"] not in await with_label(
        api, "old"
    )
    shown = (await api.get(f"/v1/experiments/{first['number']}")).json()
    assert shown["labels"] == ["kept", "fresh"] and shown["config"] == first["config"]
    record = (await recorded(api, operation="LabelExperiments"))[0]
    assert record["before"][str(first["number"])] == ["old", "kept"]


async def test_what_the_searcher_says_later_leaves_them(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api, labels=["old"])
    await label(api, experiments=[made["id"]], add=["new"])
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1, state="paused"))

    async def paused() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["state"] == "paused")

    await eventually(paused)
    assert (await api.get(f"/v1/experiments/{made['id']}")).json()["labels"] == ["old", "new"]


async def test_who_follows_labels_is_told_and_who_does_not_is_not(api: httpx.AsyncClient) -> None:
    made = await create(api)

    async def first_of(kind: dict[str, str]) -> dict[str, Any]:
        async with api.stream("GET", "/v1/events", params={"after": "0"} | kind) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: ") and made["id"] in line:
                    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                    return found
        raise AssertionError("the stream has ended")

    await label(api, experiments=[made["id"]], add=["told"])
    async with asyncio.timeout(20):
        told = await first_of({"kind": "labels"})
    assert (told["change"], told["entity"], told["resource"]["labels"]) == ("changed", made["id"], ["told"])


async def test_all_or_none_and_no_more_than_there_may_be(api: httpx.AsyncClient, gateway: Gateway) -> None:
    made = await create(api, labels=["old"])
    missing = await label(api, 404, experiments=[made["id"], "999999"], add=["new"])
    assert "999999" in missing["detail"]
    await label(api, 400, experiments=[made["id"]])
    await label(api, 400, experiments=[made["id"]], add=["x"], remove=["x"])
    many = [f"l{number}" for number in range(MOST_LABELS)]
    refused = await label(api, 422, experiments=[made["id"]], add=many)
    assert refused["code"] == "too_many_labels" and str(MOST_LABELS + 1) in refused["detail"]
    elsewhere = await user(api, "labels-elsewhere", "editor", workspace="elsewhere")
    viewer = await user(api, "labels-viewer", "viewer")
    async with gateway.client(elsewhere) as other, gateway.client(viewer) as reader:
        await label(other, 404, experiments=[made["id"]], add=["x"])
        await label(reader, 403, experiments=[made["id"]], add=["x"])
    assert (await api.get(f"/v1/experiments/{made['id']}")).json()["labels"] == ["old"]
