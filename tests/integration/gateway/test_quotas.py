"""How much is done at once: experiments that are open, whoever counts them, and requests a second."""

import asyncio
import json
from collections import Counter
from contextlib import suppress
from typing import Any

import asyncpg
import httpx

from shared.ids import TenantId
from shared.messages.checkpoints import GetStorage, StorageUse, WorkspaceUse
from shared.messages.limits import WorkspaceStorageLimitChanged
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_experiments import changed
from tests.integration.gateway.test_policies import config, post, tenant, user
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

__all__ = ["tenant"]

FLOOD_S = 2.0
MANY = 20


async def put(client: httpx.AsyncClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = await client.put(f"/v1/quotas/{path}", json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def me(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get("/v1/me")).json()
    return found


async def slowed(client: httpx.AsyncClient) -> None:
    """Sends until it is told that it sends too fast: every replica knows the rate then."""

    async def is_slowed() -> bool:
        return (await client.get("/v1/me")).status_code == 429

    await eventually(is_slowed)


async def test_no_more_experiments_are_open_than_may_be_however_many_submit_at_once(
    tenant: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    await put(tenant, "workspace", workspace="vision", max_experiments=3)
    answers = await asyncio.gather(
        *(tenant.post("/v1/experiments", json={"config_yaml": config()}) for _ in range(8))
    )
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 5
    refused = next(answer.json() for answer in answers if answer.status_code == 409)
    assert refused["code"] == "too_many_experiments"
    assert "workspace 'vision' has reached its quota of open experiments (3 of 3)" in refused["detail"]
    elsewhere = await post(tenant, "/v1/experiments", config_yaml=config("speech"))
    made = sorted(answer.json()["number"] for answer in answers if answer.status_code == 201)
    assert [*made, elsewhere["number"]] == [1, 2, 3, 4], "what is refused takes no number"
    one = next(answer.json() for answer in answers if answer.status_code == 201)
    over = changed(one, 1, state="completed", final=True)
    await others.announce("searcher", TenantId((await me(tenant))["tenant"]), over)

    async def is_taken() -> bool:
        answer = await tenant.post("/v1/experiments", json={"config_yaml": config()})
        return answer.status_code == 201

    await eventually(is_taken)


async def test_a_tenants_experiments_count_also_for_who_sees_a_project_only(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    name = (await me(tenant))["tenant_name"]
    async with gateway.client() as operator:
        await put(operator, "tenant", tenant=name, max_experiments=1)
    await post(tenant, "/v1/experiments", config_yaml=config("speech"))
    async with await user(tenant, gateway, "one", role="editor", workspace="vision", project="detect") as one:
        refused = await post(one, "/v1/experiments", 409, config_yaml=config())
        assert (
            refused["code"] == "too_many_experiments"
            and "the tenant has reached its quota of open experiments (1 of" in refused["detail"]
        )
        assert (await one.get("/v1/experiments")).json()["items"] == []


async def test_a_tenant_is_served_at_its_rate_however_much_it_sends_and_its_neighbour_at_once(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    async with gateway.client() as neighbour:
        await put(neighbour, "tenant", tenant=(await me(tenant))["tenant_name"], requests_per_s=10)
        await slowed(tenant)
        found: Counter[int] = Counter()

        async def flood() -> None:
            while True:
                found[(await tenant.get("/v1/me")).status_code] += 1

        with suppress(TimeoutError):
            async with asyncio.timeout(FLOOD_S), asyncio.TaskGroup() as group:
                for _ in range(MANY):
                    group.create_task(flood())
                while True:
                    assert (await neighbour.get("/v1/me")).status_code == 200
    assert 10 * FLOOD_S - 5 <= found[200] <= 10 * FLOOD_S + 5
    assert set(found) == {200, 429}


async def test_a_refused_request_passes_after_the_time_that_it_was_told(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    async with gateway.client() as operator:
        await put(operator, "tenant", tenant=(await me(tenant))["tenant_name"], requests_per_s=2)
    await slowed(tenant)
    refused = await tenant.get("/v1/me")
    assert refused.status_code == 429
    assert 0 < refused.json()["retry_after"] <= int(refused.headers["retry-after"])
    await asyncio.sleep(int(refused.headers["retry-after"]))
    assert (await tenant.get("/v1/me")).status_code == 200


async def test_a_workspaces_requests_are_slowed_and_the_tenants_others_are_not(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    await put(tenant, "workspace", workspace="vision", requests_per_s=0.5)
    async with await user(tenant, gateway, "one", role="viewer", workspace="vision") as one:
        answers: list[httpx.Response] = []

        async def is_slowed() -> bool:
            answers.append(await one.get("/v1/experiments"))
            return answers[-1].status_code == 429

        await eventually(is_slowed)
        slowed = answers[-1]
        assert slowed.json()["code"] == "rate_limited" and "workspace 'vision'" in slowed.json()["detail"]
        assert float(slowed.headers["retry-after"]) > 0
        assert all([(await tenant.get("/v1/experiments")).status_code == 200 for _ in range(20)])
    await put(tenant, "workspace", workspace="vision")
    assert (await tenant.get("/v1/quotas")).json()["items"] == []


async def test_who_leads_a_workspace_sees_its_quota_and_cannot_raise_it(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    await put(tenant, "workspace", workspace="vision", max_experiments=3)
    await put(tenant, "workspace", workspace="speech", max_experiments=4)
    await put(tenant, "tenant", 403, max_experiments=3)
    async with await user(tenant, gateway, "lead", role="workspace-admin", workspace="vision") as lead:
        refused = await put(lead, "workspace", 403, workspace="vision", max_experiments=100)
        assert "in the tenant" in refused["detail"]
        listed = (await lead.get("/v1/quotas")).json()["items"]
        assert [(one["workspace"], one["max_experiments"]) for one in listed] == [("vision", 3)]
    async with gateway.client() as operator:
        listed = (await operator.get("/v1/quotas")).json()["items"]
        assert not [one for one in listed if one["workspace"]], "an operator sees nothing of what is inside"


async def test_a_workspaces_bytes_are_told_to_who_keeps_to_them_each_word_newer_than_the_last(
    tenant: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    quota = await put(tenant, "workspace", workspace="vision", max_stored_bytes=500)
    assert (quota["workspace"], quota["max_stored_bytes"]) == ("vision", 500)
    [listed] = (await tenant.get("/v1/quotas")).json()["items"]
    assert listed["max_stored_bytes"] == 500
    await put(tenant, "workspace", workspace="vision", max_experiments=3)
    await put(tenant, "workspace", workspace="vision")
    assert (await tenant.get("/v1/quotas")).json()["items"] == []
    await put(tenant, "workspace", workspace="vision", max_stored_bytes=0)
    await put(tenant, "workspace", 400, workspace="vision", max_stored_bytes=-1)
    subject = WorkspaceStorageLimitChanged.subject(TenantId((await me(tenant))["tenant"]))
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    told = await connection.fetch(
        "SELECT payload FROM gateway.outbox WHERE subject = $1 ORDER BY position", subject
    )
    await connection.close()
    said = [json.loads(row["payload"]) for row in told]
    assert [(one["workspace"], one["version"], one["maximum_bytes"]) for one in said] == [
        ("vision", 1, 500), ("vision", 2, None), ("vision", 3, None), ("vision", 4, 0),
    ]  # fmt: skip
    assert len({one["limit_id"] for one in said}) == 1


async def test_who_sees_a_workspace_is_shown_its_bytes_and_not_the_tenants(
    tenant: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    bytes_of = {"speech": (60, None), "vision": (50, 80)}
    uses = [
        WorkspaceUse(workspace=name, used_bytes=used, maximum_bytes=most)
        for name, (used, most) in bytes_of.items()
    ]
    others.say(GetStorage, StorageUse(used_bytes=100, maximum_bytes=500, workspaces=tuple(uses)))
    whole = (await tenant.get("/v1/storage")).json()
    assert (whole["used_bytes"], whole["maximum_bytes"]) == (100, 500)
    assert [one["workspace"] for one in whole["workspaces"]] == ["speech", "vision"]
    async with await user(
        tenant, gateway, "onlooker", role="workspace-admin", workspace="vision"
    ) as onlooker:
        seen = (await onlooker.get("/v1/storage")).json()
        assert (seen["used_bytes"], seen["maximum_bytes"]) == (50, 80)
        assert [one["workspace"] for one in seen["workspaces"]] == ["vision"]
    async with await user(tenant, gateway, "beside", role="workspace-admin", workspace="text") as beside:
        nothing = (await beside.get("/v1/storage")).json()
        assert (nothing["used_bytes"], nothing["workspaces"]) == (0, [])
