"""What lists are tested with: all of a list, what expressions choose of it in memory, and things of many kinds that differ."""

from typing import Any

import httpx

from services.gateway.api.base import ListRequest, Resource
from shared.clock import SystemClock
from shared.expressions.choosing import cell_of, choose
from shared.expressions.fields import Wanted
from shared.ids import DEFAULT_TENANT, SITE, InstanceId, PoolName, WorkerId, new_id
from shared.messages.instances import InstanceChanged
from shared.messages.pools import PoolView
from tests.integration.gateway.conftest import Others
from tests.integration.gateway.seeding import NOW, seed, version_changed
from tests.support.waiting import eventually


async def walk(api: httpx.AsyncClient, path: str, limit: int, **query: str) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {**query, "limit": limit}
    while True:
        page = await api.get(path, params=params)
        assert page.status_code == 200, page.text
        found += page.json()["items"]
        if (cursor := page.json()["next_cursor"]) is None:
            return found
        params["cursor"] = cursor


def chosen(
    model: type[Resource],
    request: type[ListRequest],
    items: list[dict[str, Any]],
    filter_: str,
    sort: str,
    key: str = "number",
) -> list[Any]:
    """What the same expressions choose of all that is shown."""
    met, orders = request.listing.read(filter_, sort)
    shown = [model.model_validate(item) for item in items]
    found = choose(shown, Wanted(met, orders, None, 1000), cell_of)
    return [one.model_dump(mode="json")[key] for one in found]


async def person(api: httpx.AsyncClient, name: str, kind: str, **more: Any) -> None:
    made = await api.post("/v1/users", json={"name": name, "kind": kind, **more})
    assert made.status_code == 201, made.text


async def fill(api: httpx.AsyncClient, others: Others) -> str:
    """Makes people, programs, groups, webhooks, versions and machines that differ; returns the versions' model."""
    for name, kind, more in (
        ("list-ada", "person", {"display_name": "Ada"}),
        ("list-bot", "service_account", {}),
        ("list-cron", "service_account", {"display_name": "nightly"}),
    ):
        await person(api, name, kind, **more)
    for group, members in (("list-night", ("list-bot", "list-cron")), ("list-empty", ())):
        assert (await api.post("/v1/groups", json={"name": group})).status_code == 201
        for member in members:
            assert (await api.put(f"/v1/groups/{group}/members/{member}", json={})).status_code == 200
    assert (await api.patch("/v1/users/list-cron", json={"disabled": True})).status_code == 200
    for name, how in (("list-a", {"events": ["trial.*"]}), ("list-b", {"labels": ["nightly"]})):
        hook = {"name": name, "url": "https://example.invalid/x", **how}
        assert (await api.post("/v1/webhooks", json=hook)).status_code == 201
    seeded = await seed(api, others)
    first = await versions_of(api, str(seeded.model))
    added = version_changed(seeded, 2, tags=("eu",), stage="production"), version_changed(seeded, 3)
    await others.announce("registry", DEFAULT_TENANT, *added)
    machines = [
        InstanceChanged(
            instance_id=InstanceId(new_id(SystemClock())),
            version=1,
            pool=PoolName("rented"),
            worker=WorkerId(f"list-{slots}"),
            driver="local",
            state="ready" if slots > 1 else "gone",
            slots=slots,
            price_per_hour=0.5 * slots,
            launched_at=NOW,
            ended_at=None if slots > 1 else NOW,
        )
        for slots in (1, 2, 4)
    ]
    await others.announce("provisioner", SITE, *machines)

    async def told() -> bool:
        found = await walk(api, "/v1/instances", 200, filter="worker contains list-")
        return len(found) == 3 and len(await versions_of(api, str(seeded.model))) == len(first) + 2

    await eventually(told)
    return str(seeded.model)


async def versions_of(api: httpx.AsyncClient, model: str) -> list[dict[str, Any]]:
    return await walk(api, f"/v1/models/{model}/versions", 200)


def pool_view(name: str) -> PoolView:
    return PoolView(
        pool=PoolName(name),
        slot_kind=None,
        workers=1,
        slots=1,
        used_slots=0,
        waiting_slots=0,
        preemption=True,
        exclusive=False,
    )
