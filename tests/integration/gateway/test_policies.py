"""Templates under configs, and policies over them: what is stored is what was said, whatever was asked for."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from shared.messages.plans import PlanExperiment
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import CONFIG

PLACE = "workspace: {workspace}\nproject: detect\n"


@pytest.fixture
async def tenant(gateway: Gateway, request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """The client of a new tenant's first admin."""
    async with gateway.client() as operator:
        made = await operator.post("/v1/tenants", json={"name": request.node.name})
        assert made.status_code == 201, made.text
    async with gateway.client(made.json()["secret"]) as admin:
        yield admin


async def post(client: httpx.AsyncClient, path: str, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def put_policy(client: httpx.AsyncClient, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = await client.put("/v1/policies", json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def config(workspace: str = "vision", **more: Any) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in more.items())
    return CONFIG + PLACE.format(workspace=workspace) + lines


async def user(tenant: httpx.AsyncClient, gateway: Gateway, name: str, **grant: Any) -> httpx.AsyncClient:
    await post(tenant, "/v1/users", name=name)
    await post(tenant, "/v1/role-bindings", **{"user": name, **grant})
    return gateway.client((await post(tenant, f"/v1/users/{name}/tokens", name=name))["secret"])


async def test_a_config_is_laid_over_its_template_and_keeps_what_it_became(
    tenant: httpx.AsyncClient,
) -> None:
    part = {"max_restarts": 2, "labels": ["ours"], "resources": {"slots_per_trial": 2, "weight": 3}}
    await post(tenant, "/v1/templates", name="base", config=part)
    text = config(labels="[mine]", resources="{slots_per_trial: 1}")
    made = await post(tenant, "/v1/experiments", config_yaml=text, template="base")
    assert made["config"]["max_restarts"] == 2
    assert made["config"]["resources"] | {"slots_per_trial": 1, "weight": 3} == made["config"]["resources"]
    assert sorted(made["labels"]) == ["mine", "ours"]
    edited = await tenant.patch("/v1/templates/base", json={"config": {"max_restarts": 4}})
    assert edited.json()["config"] == {"max_restarts": 4}
    again = (await tenant.get(f"/v1/experiments/{made['number']}")).json()
    assert again["config"]["max_restarts"] == 2
    assert (await tenant.delete("/v1/templates/base")).status_code == 200
    refused = await post(tenant, "/v1/experiments", 422, config_yaml=text, template="base")
    assert refused["code"] == "template_unknown" and "'base'" in refused["detail"]


async def test_a_template_is_checked_as_far_as_it_goes(tenant: httpx.AsyncClient) -> None:
    refused = await post(tenant, "/v1/templates", 422, name="bad", config={"resources": {"weigth": 2}})
    assert (refused["code"], refused["place"]) == ("unknown_key", "config.resources.weigth")
    assert "weight" in refused["hint"]
    await post(tenant, "/v1/templates", name="part", config={"searcher": {"metric": "loss"}})
    twice = await post(tenant, "/v1/templates", 409, name="part", config={"max_restarts": 1})
    assert twice["code"] == "template_exists"


async def test_what_a_template_got_wrong_is_said_to_stand_there(tenant: httpx.AsyncClient) -> None:
    await post(tenant, "/v1/templates", name="half", config={"resources": {"max_slots": 1}})
    text = config(resources="{slots_per_trial: 4}")
    refused = await post(tenant, "/v1/experiments", 422, config_yaml=text, template="half")
    assert refused["place"] == "resources.max_slots, from template 'half'"


async def test_policies_win_over_configs_and_the_tenants_over_a_workspaces(
    tenant: httpx.AsyncClient,
) -> None:
    await put_policy(tenant, invariant_config={"max_restarts": 1, "labels": ["audited"]})
    own = {"max_restarts": 9, "preemption_timeout": 60}
    await put_policy(tenant, workspace="vision", invariant_config=own)
    text = config(max_restarts=5, labels="[mine]")
    made = await post(tenant, "/v1/experiments", config_yaml=text)
    assert (made["config"]["max_restarts"], made["config"]["preemption_timeout"]) == (1, 60)
    assert sorted(made["labels"]) == ["audited", "mine"]
    told = [warning for warning in made["warnings"] if "max_restarts" in warning]
    assert "max_restarts is 1, set by the tenant's policy; your value" in told[-1]
    other = await post(tenant, "/v1/experiments", config_yaml=config("speech", max_restarts=5))
    assert (other["config"]["max_restarts"], other["config"]["preemption_timeout"]) == (1, 3600)
    forked = await post(
        tenant, f"/v1/experiments/{made['number']}/fork", overrides={"max_restarts": 7, "name": "again"}
    )
    assert forked["config"]["max_restarts"] == 1


async def test_what_exceeds_a_policy_is_refused_with_its_key_and_limit(
    tenant: httpx.AsyncClient, others: Others
) -> None:
    await put_policy(tenant, workspace="vision", max_slots=4, priority_limit=30)
    for resources, key, said in (
        ("{slots_per_trial: 8}", "resources.slots_per_trial", "at most 4"),
        ("{max_slots: 5}", "resources.max_slots", "at most 4"),
        ("{priority: 29}", "resources.priority", "30 to 99"),
    ):
        refused = await post(tenant, "/v1/experiments", 422, config_yaml=config(resources=resources))
        assert (refused["code"], refused["place"]) == ("policy_violated", key)
        assert f"the policy of workspace 'vision' allows {said}" in refused["detail"]
        planned = await post(tenant, "/v1/plans", 422, config_yaml=config(resources=resources))
        assert planned["place"] == key
    assert not [query for _, query in others.asked if isinstance(query, PlanExperiment)]
    made = await post(tenant, "/v1/experiments", config_yaml=config())
    assert (made["config"]["resources"]["max_slots"], made["config"]["resources"]["priority"]) == (4, 30)
    for changes, key in (
        ({"priority": 5}, "resources.priority"),
        ({"max_slots": 9}, "resources.max_slots"),
        ({"no_max_slots": True}, "resources.max_slots"),
    ):
        answer = await tenant.patch(f"/v1/experiments/{made['number']}", json=changes)
        assert (answer.status_code, answer.json()["place"]) == (422, key)
    await put_policy(tenant, workspace="vision")
    assert (await tenant.get("/v1/policies")).json()["items"] == []
    free = await post(tenant, "/v1/experiments", config_yaml=config(resources="{priority: 1}"))
    assert free["config"]["resources"]["max_slots"] is None


async def test_a_policy_cannot_move_what_it_holds_for(tenant: httpx.AsyncClient) -> None:
    refused = await put_policy(tenant, 422, invariant_config={"workspace": "speech"})
    assert refused["place"] == "invariant_config.workspace"


async def test_who_leads_a_workspace_sets_its_policy_and_no_other(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    await put_policy(tenant, workspace="speech", max_slots=2)
    lead = await user(tenant, gateway, "lead", role="workspace-admin", workspace="vision")
    async with lead:
        await put_policy(lead, workspace="vision", max_slots=8)
        for place in ({"workspace": "speech"}, {}):
            refused = await put_policy(lead, 403, max_slots=100, **place)
            assert "policy.manage" in refused["detail"]
        listed = (await lead.get("/v1/policies")).json()["items"]
        assert [one["workspace"] for one in listed] == ["vision"]
        await post(tenant, "/v1/templates", name="all", config={"max_restarts": 1})
        assert (await lead.get("/v1/templates/all")).status_code == 200
        denied = await lead.patch("/v1/templates/all", json={"config": {"max_restarts": 9}})
        assert denied.status_code == 404


async def test_a_policy_holds_for_who_sees_a_project_only(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    await put_policy(tenant, workspace="vision", max_slots=2)
    await post(tenant, "/v1/templates", name="there", workspace="vision", config={"max_restarts": 3})
    await post(tenant, "/v1/templates", name="elsewhere", workspace="speech", config={"max_restarts": 3})
    one = await user(tenant, gateway, "one", role="editor", workspace="vision", project="detect")
    async with one:
        text = config(resources="{max_slots: 3}")
        refused = await post(one, "/v1/experiments", 422, config_yaml=text)
        assert refused["code"] == "policy_violated"
        made = await post(one, "/v1/experiments", config_yaml=config(), template="there")
        assert made["config"]["max_restarts"] == 3
        unseen = await post(one, "/v1/experiments", 422, config_yaml=config(), template="elsewhere")
        assert unseen["code"] == "template_unknown"
        assert [t["name"] for t in (await one.get("/v1/templates")).json()["items"]] == ["there"]
