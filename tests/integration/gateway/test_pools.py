"""Pools' rules and limits over the API: changed in the site's name, shown as they stand, seen by whom they concern."""

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest

from shared.ids import DEFAULT_TENANT, SITE
from shared.messages.limits import LimitsChanged
from shared.messages.pools import ClusterView, EditPool, GetCluster
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import add_token, make_tenant
from tests.integration.gateway.test_experiments import create, next_command
from tests.integration.gateway.test_machines import view
from tests.integration.servers import TestDatabase
from tests.support.policies import plain_rules
from tests.support.waiting import eventually


def ruled(**rules: Any) -> ClusterView:
    found = view("w1")
    pool = found.pools[0].model_copy(update={"rules": plain_rules(**rules), "max_slots": 8})
    return found.model_copy(update={"pools": (pool,)})


async def test_rules_are_changed_one_by_one_and_shown_as_they_stand(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(GetCluster, ruled(ageing_s=60.0, max_preemptions=2))
    shown = (await api.get("/v1/pools/default")).json()
    assert (shown["rules"]["order"], shown["rules"]["ageing_s"], shown["max_slots"]) == ("priority", 60.0, 8)
    changes = {"order": "fair_share", "preemption": True, "half_life_s": 3600.0, "no_ageing": True}
    changes |= {"topology": ["rack", "zone"], "placement": "spread"}
    asking = asyncio.create_task(api.patch("/v1/pools/default", json=changes))
    wanted = plain_rules(
        order="fair_share",
        preemption=True,
        half_life_s=3600.0,
        max_preemptions=2,
        topology=("rack", "zone"),
        placement="spread",
    )

    async def is_sent() -> bool:
        command = await next_command(others, EditPool)
        return isinstance(command, EditPool) and command.rules == wanted

    await eventually(is_sent)
    message = await others.buses["admin"].jetstream.get_last_msg("CMD", EditPool.subject())
    assert (message.headers or {})["Muster-Tenant"] == str(SITE)
    others.say(GetCluster, ruled(**wanted.model_dump()))
    assert (await asking).json()["rules"] == {**wanted.model_dump(mode="json"), "tenant": None}


async def test_a_trusted_pool_shows_its_only_tenant(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, ruled())
    refused = await api.patch("/v1/pools/default", json={"tenant": "default"})
    assert refused.status_code == 400 and "only a trusted pool" in refused.json()["detail"]
    changes = {"trusted": True, "tenant": "default"}
    asking = asyncio.create_task(api.patch("/v1/pools/default", json=changes))
    wanted = plain_rules(trusted=True)

    async def is_sent() -> bool:
        command = await next_command(others, EditPool)
        return isinstance(command, EditPool) and command.rules == wanted

    await eventually(is_sent)
    others.say(GetCluster, ruled(trusted=True))
    rules = (await asking).json()["rules"]
    assert rules["trusted"] and rules["tenant"] == str(DEFAULT_TENANT)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"default_priority": 100}, "default_priority"),
        ({"half_life_s": 1}, "half_life_s"),
        ({"order": "random"}, "order"),
        ({"ageing_s": 5, "no_ageing": True}, "no_ageing"),
        ({"topology": ["rack"], "no_topology": True}, "no_topology"),
        ({"topology": ["a rack"]}, "topology[0]"),
        ({}, None),
    ],
)
async def test_rules_out_of_range_are_refused_with_their_place(
    api: httpx.AsyncClient, others: Others, body: dict[str, Any], place: str | None
) -> None:
    others.say(GetCluster, ruled())
    refused = await api.patch("/v1/pools/default", json=body)
    assert refused.status_code in (400, 422) and refused.json().get("place") == place


async def test_a_pool_that_is_not_there_is_not_found(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, ruled())
    refused = await api.patch("/v1/pools/moon", json={"preemption": True})
    assert refused.status_code == 404 and refused.json()["hint"] == "pools: default"
    assert (await api.put("/v1/limits", json={"pool": "moon"})).status_code == 404


async def told_limits(others: Others) -> LimitsChanged:
    message = await others.buses["admin"].jetstream.get_last_msg("EVT", LimitsChanged.subject(SITE))
    return LimitsChanged.from_bytes(message.data or b"")


async def test_a_limit_is_told_to_the_scheduler_and_replaces_the_one_before(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(GetCluster, ruled())
    body = {"pool": "default", "workspace": "vision", "guaranteed": 2, "maximum": 4, "weight": 2.0}
    unused = "workspace 'vision' has no experiments yet"
    said = (await api.put("/v1/limits", json=body)).json()
    assert said == body | {"id": said["id"], "tenant": "default", "warnings": [unused]}

    async def is_told() -> bool:
        told = await told_limits(others)
        return (told.workspace, told.guaranteed, told.maximum, told.weight) == ("vision", 2, 4, 2.0)

    await eventually(is_told)
    first = await told_limits(others)
    assert (first.tenant, first.pool, str(first.limit_id)) == (DEFAULT_TENANT, "default", said["id"])
    await api.put("/v1/limits", json=body | {"maximum": 6})

    async def is_replaced() -> bool:
        told = await told_limits(others)
        return (told.maximum, told.version, told.limit_id) == (6, first.version + 1, first.limit_id)

    await eventually(is_replaced)
    listed = (await api.get("/v1/limits", params={"pool": "default"})).json()["items"]
    assert [one["maximum"] for one in listed if one["workspace"] == "vision"] == [6]
    await api.put("/v1/limits", json={"pool": "default", "workspace": "vision"})
    assert (await api.get("/v1/limits")).json()["items"] == [], "what limits nothing is not listed"
    refused = await api.put("/v1/limits", json=body | {"maximum": 1})
    assert refused.json()["place"] == "maximum" and "below the guarantee (2)" in refused.json()["detail"]


async def test_a_workspace_without_experiments_is_said(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, ruled())
    await create(api)

    async def said(workspace: str) -> list[str]:
        body = {"pool": "default", "workspace": workspace}
        found: list[str] = (await api.put("/v1/limits", json=body)).json()["warnings"]
        return found

    assert await said("Uncategorized") == []
    assert (await said("Uncategorised"))[0].endswith(" yet: did you mean 'Uncategorized'?")


async def test_tenants_see_and_set_their_own_and_an_operator_all(
    gateway: Gateway, others: Others, postgres: TestDatabase
) -> None:
    others.say(GetCluster, ruled())
    system = postgres.urls["gateway"].system
    foreign: UUID
    foreign, token = await make_tenant(system, gateway.directory, "other")
    name = f"other-{foreign}"
    operator = await add_token(system, gateway.directory, DEFAULT_TENANT, "operator", "limits-operator")
    viewer = await add_token(system, gateway.directory, DEFAULT_TENANT, "viewer", "limits-viewer")
    async with gateway.client(operator) as client:
        set_ = await client.put("/v1/limits", json={"pool": "default", "tenant": name, "maximum": 3})
        assert set_.json()["tenant"] == name
        assert [one["tenant"] for one in (await client.get("/v1/limits")).json()["items"]] == [name]

    async def is_told() -> bool:
        return (await told_limits(others)).tenant == foreign

    await eventually(is_told)
    async with gateway.client(token) as client:
        assert [one["maximum"] for one in (await client.get("/v1/limits")).json()["items"]] == [3]
        named = await client.put("/v1/limits", json={"pool": "default", "tenant": "default"})
        own = await client.put("/v1/limits", json={"pool": "default", "guaranteed": 9})
        assert named.status_code == own.status_code == 403, "what a tenant may hold is not its own to say"
    async with gateway.client(viewer) as client:
        assert (await client.get("/v1/limits")).json()["items"] == []
        assert (await client.put("/v1/limits", json={"pool": "default"})).status_code == 403


async def test_a_tenants_admin_shares_out_what_the_tenant_may_hold_and_no_more(
    gateway: Gateway, others: Others, postgres: TestDatabase
) -> None:
    others.say(GetCluster, ruled())
    foreign, token = await make_tenant(postgres.urls["gateway"].system, gateway.directory, "sharing")
    path = "/v1/limits/workspace"
    pool: dict[str, Any] = {"pool": "default"}
    async with gateway.client() as keeper, gateway.client(token) as admin:
        body = pool | {"tenant": f"sharing-{foreign}", "guaranteed": 8, "maximum": 16}
        assert (await keeper.put("/v1/limits", json=body)).status_code == 200
        assert (await admin.put("/v1/limits", json=pool | {"maximum": 99})).status_code in (403, 404)
        vision = pool | {"workspace": "vision", "guaranteed": 6, "maximum": 10}
        assert (await admin.put(path, json=vision)).json()["tenant"] == f"sharing-{foreign}"

        async def is_told() -> bool:
            told = await told_limits(others)
            return (told.tenant, told.workspace, told.guaranteed) == (foreign, "vision", 6)

        await eventually(is_told)
        for more, place, said in (
            (
                {"guaranteed": 3},
                "guaranteed",
                "guarantee in pool default is 8 slots, of which its other workspaces have 6",
            ),
            ({"maximum": 17}, "maximum", "maximum is 16 slots"),
            ({"guaranteed": 2, "maximum": 1}, "maximum", "below the guarantee (2)"),
        ):
            refused = await admin.put(path, json=pool | {"workspace": "speech"} | more)
            assert refused.status_code in (400, 422) and refused.json()["place"] == place, refused.text
            assert said in refused.json()["detail"]
        both = [pool | {"workspace": name, "guaranteed": 2} for name in ("speech", "text")]
        answers = await asyncio.gather(*(admin.put(path, json=one) for one in both))
        assert sorted(answer.status_code for answer in answers) == [200, 422]
        assert (await admin.put(path, json=vision | {"guaranteed": 5})).status_code == 200
