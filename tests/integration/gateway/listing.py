"""What lists are tested with: all of a list, what expressions choose of it in memory, and things of many kinds that differ."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from services.gateway.platform.schema import ListRequest, Resource
from shared.clock import SystemClock
from shared.filters.fields import ListQuery
from shared.filters.in_memory import cell_of, select
from shared.ids import DEFAULT_TENANT, SITE, InstanceId, PoolName, WorkerId, new_id
from shared.messages import experiments as messages
from shared.messages.instances import InstanceChanged
from shared.messages.pools import ClusterView, GetCluster, PoolView
from shared.messages.reservations import GetReservations, ReservationList, ReservationView
from shared.messages.runs import WORKER_STOPPED, RunEnded
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import NOW, Seeded, seed, version_changed
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
    found = select(shown, ListQuery(met, orders, None, 1000), cell_of)
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
            state="ready" if slots > 1 else "terminated",
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


async def fill_more(api: httpx.AsyncClient, others: Others, gateway: Gateway) -> str:
    """Makes templates, tenants, roles given, sessions, attempts, operations, limits and bookings that differ; returns the attempts' trial."""
    for name, more in (("list-a", {"workspace": "vision", "description": "y"}), ("list-b", {})):
        made = await api.post("/v1/templates", json={"name": name, "config": {"max_restarts": 1}, **more})
        assert made.status_code == 201, made.text
    for name in ("list-x", "list-y"):
        assert (await api.post("/v1/tenants", json={"name": name})).status_code == 201
    await person(api, "given-ada", "person")
    assert (await api.post("/v1/groups", json={"name": "given"})).status_code == 201
    ada = {"user": "given-ada"}
    for given in (
        {**ada, "role": "viewer"},
        {**ada, "role": "editor", "workspace": "vision", "project": "detect"},
        {"group": "given", "role": "viewer", "workspace": "speech"},
    ):
        assert (await api.post("/v1/role-bindings", json=given)).status_code == 201
    for _ in range(2):
        await session_of(gateway, "given-ada", api)
    others.say(GetCluster, ClusterView(pools=(pool_view("default"), pool_view("gpu")), workers=()))
    for limit in (
        {"pool": "default", "guaranteed": 1, "maximum": 4},
        {"pool": "default", "workspace": "vision", "guaranteed": 1, "weight": 2.0},
        {"pool": "gpu", "maximum": 2},
    ):
        assert (await api.put("/v1/limits", json=limit)).status_code == 200
    others.say(GetReservations, ReservationList(items=tuple(map(booked, (1, 2, 3)))))
    seeded = await seed(api, others)
    told = {"number": seeded.experiment["number"], "state": "active", "started_at": NOW}
    now = messages.ExperimentChanged.model_validate(
        {"experiment_id": seeded.experiment["id"], "version": 1, **told}
    )
    await others.announce("searcher", DEFAULT_TENANT, now)
    await attempted(api, others, seeded)
    for _ in range(2):
        begun = await api.post(
            f"/v1/experiments/{seeded.experiment['id']}/pause", headers={"Prefer": "respond-async"}
        )
        assert begun.status_code == 202, begun.text
    return str(seeded.trial)


async def session_of(gateway: Gateway, user: str, api: httpx.AsyncClient) -> str:
    """The secret of a new session of a user."""
    token = await api.post(f"/v1/users/{user}/tokens", json={"name": "list"})
    assert token.status_code == 201, token.text
    async with gateway.client("") as anyone:
        made = await anyone.post("/v1/sign-in/token", json={"token": token.json()["secret"]})
    assert made.status_code == 200, made.text
    return str(made.json()["secret"])


async def attempted(api: httpx.AsyncClient, others: Others, seeded: Seeded) -> None:
    """Beside the run that there is one that failed, one that completed, one interrupted and one lost."""
    outcomes: tuple[dict[str, object], ...] = (
        {"outcome": "failed", "exit_code": 1, "charged": True},
        {"outcome": "completed", "exit_code": 0},
        {"outcome": "lost", "reason": WORKER_STOPPED},
        {"outcome": "lost", "reason": "no heartbeat for 4 s"},
    )
    for number, outcome in enumerate(outcomes, start=2):
        told = {
            "run_id": new_id(SystemClock()),
            "trial_id": seeded.trial,
            "experiment_id": seeded.experiment["id"],
            "version": 2,
            "number": number,
            "allocation_id": new_id(SystemClock()),
            "token": number,
            "pool": "gpu" if number == 2 else "default",
            "members": [{"worker": "w1", "slots": 1}],
            "granted_at": NOW,
            "ended_at": NOW + timedelta(minutes=number),
            "next": "closed",
        }
        await others.announce("scheduler", DEFAULT_TENANT, RunEnded.model_validate(told | outcome))

    async def are_told() -> bool:
        return len(await walk(api, f"/v1/trials/{seeded.trial}/runs", 200)) == 5

    await eventually(are_told)


def booked(number: int) -> ReservationView:
    day = datetime(2126, 1, number, tzinfo=UTC)
    return ReservationView(
        reservation_id=new_id(SystemClock()),
        pool=PoolName("default"),
        tenant=DEFAULT_TENANT,
        workspace="vision" if number > 1 else None,
        slots=number,
        begins_at=day,
        ends_at=day + timedelta(days=4 - number, hours=1),
    )


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
