"""Deletions as the gateway carries them: hidden at once, asked of each owner in its turn, taken back where the registry refuses."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import text

from services.gateway.platform.events.store import sweep_feeds
from shared.database.engine import Database
from shared.ids import DEFAULT_TENANT, SITE, TenantId
from shared.messages.deletions import (
    DeleteEntity,
    DeleteFromRegistry,
    DeleteFromScheduler,
    DeleteFromSearcher,
    EntityDeleted,
)
from shared.messages.experiments import KillExperiment, OperationRefused
from shared.settings import PostgresSettings
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import seed
from tests.integration.gateway.sites import made, user
from tests.integration.gateway.test_experiments import CONFIG, changed, create, next_command
from tests.integration.gateway.test_long_operations import ASYNC, begun, settled
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

OWNERS = (
    (DeleteFromRegistry, "registry"),
    (DeleteFromSearcher, "searcher"),
    (DeleteFromScheduler, "scheduler"),
)


async def confirm(
    others: Others, kind: type[DeleteEntity], owner: str, target: str, tenant: TenantId = DEFAULT_TENANT
) -> DeleteEntity:
    """The owner has nothing of it any more; returns what it was asked. `target`: an id, or a workspace's name."""
    asked: list[Any] = []

    async def is_asked() -> bool:
        asked.append(await next_command(others, kind))
        return target in (str(asked[-1].target), asked[-1].workspace)

    await eventually(is_asked)
    command: DeleteEntity = asked[-1]
    said = EntityDeleted(
        operation_id=command.operation_id, owner=owner, scope=command.scope, target=command.target
    )
    await others.announce(owner, tenant, said)
    return command


async def test_an_experiment_goes_when_every_owner_has_confirmed(
    gateway: Gateway, api: httpx.AsyncClient, others: Others
) -> None:
    one = await begun(api, others)
    path = f"/v1/experiments/{one['id']}"
    answer = await api.delete(path, headers=ASYNC)
    assert answer.status_code == 202, answer.text
    operation = answer.headers["location"]
    assert (await api.get(path)).json()["deleting"] is True
    assert one["id"] not in {item["id"] for item in (await api.get("/v1/experiments")).json()["items"]}
    refused = await api.post(f"{path}/pause")
    assert (refused.status_code, refused.json()["code"]) == (409, "experiment_deleting")
    again = await api.delete(path, headers=ASYNC)
    assert again.headers["location"] == operation
    async with gateway.client(await user(api, "second", "admin")) as second:
        other = await second.delete(path, headers=ASYNC)
        assert other.headers["location"] == operation
        assert (await second.get(operation)).json()["state"] == "running", "who asks again can look at it too"

    killed = await next_command(others, KillExperiment)
    assert isinstance(killed, KillExperiment) and str(killed.experiment_id) == one["id"]
    await others.announce("searcher", DEFAULT_TENANT, changed(one, 2, state="cancelled", final=True))
    asked = await confirm(others, DeleteFromRegistry, "registry", one["id"])
    assert (str(asked.target), asked.scope, asked.is_forced) == (one["id"], "experiment", False)
    await confirm(others, DeleteFromSearcher, "searcher", one["id"])
    assert (await api.get(operation)).json()["state"] == "running"
    await confirm(others, DeleteFromScheduler, "scheduler", one["id"])
    done = await settled(api, operation)
    assert (done["state"], done["result"]["scope"], done["result"]["name"]) == (
        "done",
        "experiment",
        str(one["number"]),
    )
    assert (await api.get(path)).status_code == 404
    assert (await api.delete(path)).status_code == 404


async def test_the_registry_may_refuse_and_all_is_as_before(api: httpx.AsyncClient, others: Others) -> None:
    one = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(one, 1, state="completed", final=True))
    path = f"/v1/experiments/{one['id']}"

    async def is_over() -> bool:
        return bool((await api.get(path)).json()["final"])

    await eventually(is_over)
    operation = (await api.delete(path, headers=ASYNC)).json()["id"]

    async def is_asked() -> bool:
        return bool(str((await next_command(others, DeleteFromRegistry)).operation_id) == operation)

    await eventually(is_asked)
    refusal = OperationRefused(
        operation_id=operation, code="experiment_in_use", message="trials of experiment 7 …"
    )
    await others.announce("registry", DEFAULT_TENANT, refusal)
    told = await settled(api, f"/v1/operations/{operation}")
    assert (told["state"], told["code"]) == ("refused", "experiment_in_use")
    shown = (await api.get(path)).json()
    assert (shown["state"], shown["deleting"]) == ("completed", False)
    assert one["id"] in {item["id"] for item in (await api.get("/v1/experiments")).json()["items"]}


async def test_what_is_registered_is_named_before_anything_is_ended(
    api: httpx.AsyncClient, others: Others
) -> None:
    seeded = await seed(api, others)
    refused = await api.delete(f"/v1/experiments/{seeded.experiment['id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "experiment_registered")
    assert "version 1 of model" in refused.json()["detail"] and refused.json()["hint"]
    assert (await api.get(f"/v1/experiments/{seeded.experiment['id']}")).json()["deleting"] is False


async def test_a_workspace_takes_nothing_new_and_goes_at_last(api: httpx.AsyncClient, others: Others) -> None:
    old = f"{CONFIG}workspace: old\nproject: ideas\n"
    one = await create(api, config_yaml=old)
    await made(api, "/v1/templates", {"name": "old-part", "workspace": "old", "config": {"max_restarts": 1}})
    answer = await api.delete("/v1/workspaces/old", headers=ASYNC)
    assert answer.status_code == 202, answer.text
    new = await api.post("/v1/experiments", json={"config_yaml": old})
    assert (new.status_code, new.json()["code"]) == (409, "workspace_deleting")
    await others.announce("searcher", DEFAULT_TENANT, changed(one, 1, state="completed", final=True))
    for kind, owner in OWNERS:
        assert (await confirm(others, kind, owner, one["id"])).scope == "experiment"
    for kind, owner in OWNERS:
        assert (await confirm(others, kind, owner, "old")).scope == "workspace"
    assert (await settled(api, answer.headers["location"]))["state"] == "done"
    assert (await api.get("/v1/templates/old-part")).status_code == 404
    assert (await api.delete("/v1/workspaces/old")).status_code == 404


async def test_ids_of_the_feed_are_good_for_their_time_whatever_was_deleted(
    gateway: Gateway, api: httpx.AsyncClient, others: Others, postgres: TestDatabase
) -> None:
    created = await made(api, "/v1/tenants", {"name": "feeding"})
    tenant = TenantId(UUID(created["id"]))
    async with gateway.client(created["secret"]) as theirs:
        one = await create(theirs)
        await others.announce("searcher", tenant, changed(one, 1, state="completed", final=True))
        await eventually(partial(_is_over, theirs, one))
        answer = await theirs.delete(f"/v1/experiments/{one['id']}", headers=ASYNC)
        for kind, owner in OWNERS:
            await confirm(others, kind, owner, one["id"], tenant)
        await settled(theirs, answer.headers["location"])
        async with theirs.stream("GET", "/v1/events", params={"after": "0"}) as stream:
            assert stream.status_code == 200, (
                "the first events went with the experiment, and not by their age"
            )
        urls = postgres.urls["gateway"]
        settings = PostgresSettings.model_validate(
            {f"{role}_url": getattr(urls, role) for role in ("owner", "tenant", "system")}
        )
        async with Database(settings, "gateway") as database, database.system() as connection:
            older = text("UPDATE gateway.event SET at = at - interval '8 days' WHERE tenant = :tenant")
            await connection.execute(older, {"tenant": tenant})
            await sweep_feeds(connection, datetime.now(UTC), timedelta(days=7))
        old = await theirs.get("/v1/events", params={"after": "0"})
        assert (old.status_code, old.json()["code"]) == (410, "events_expired")


async def _is_over(api: httpx.AsyncClient, one: dict[str, Any]) -> bool:
    return bool((await api.get(f"/v1/experiments/{one['id']}")).json()["final"])


async def test_a_tenant_is_let_out_at_once(gateway: Gateway, api: httpx.AsyncClient, others: Others) -> None:
    created = await made(api, "/v1/tenants", {"name": "brief"})
    tenant = TenantId(UUID(created["id"]))
    async with gateway.client(created["secret"]) as theirs:
        person = await user(theirs, "pat", "editor")
        one = await create(theirs)
        await others.announce("searcher", tenant, changed(one, 1))
    answer = await api.delete("/v1/tenants/brief", headers=ASYNC)
    assert answer.status_code == 202, answer.text

    async def are_out() -> bool:
        codes = []
        for secret in (created["secret"], person):
            async with gateway.client(secret) as theirs:
                codes.append((await theirs.get("/v1/me")).status_code)
        return codes == [401, 401]

    await eventually(are_out)
    assert "brief" not in {item["name"] for item in (await api.get("/v1/tenants")).json()["items"]}
    await others.announce("searcher", tenant, changed(one, 2, state="cancelled", final=True))
    for kind, owner in OWNERS:
        assert (await confirm(others, kind, owner, created["id"], SITE)).scope == "tenant"
    assert (await settled(api, answer.headers["location"]))["state"] == "done"
    assert (await made(api, "/v1/tenants", {"name": "brief"}))["id"] != created["id"]
    own = await api.delete("/v1/tenants/default")
    assert (own.status_code, own.json()["code"]) == (409, "tenant_needed")
