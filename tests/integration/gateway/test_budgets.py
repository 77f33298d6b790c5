"""What may be spent in a month: said by whom it is for to say, kept to by the scheduler, and told to who sees that usage."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest

from shared.bus import RequestContext
from shared.ids import SITE, ExperimentId, TenantId, derived_id
from shared.messages.budgets import (
    BudgetSpent,
    BudgetState,
    BudgetStates,
    BudgetWarned,
    GetBudgets,
    SetBudget,
)
from shared.messages.queue import RequestRanked
from tests.integration.gateway.audited import recorded
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_experiments import CONFIG, changed, create
from tests.integration.gateway.test_policies import tenant, user
from tests.integration.gateway.test_streams import events
from tests.support.waiting import eventually

__all__ = ["tenant"]
MONTH = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def kept(others: Others) -> dict[tuple[TenantId, str], BudgetState]:
    """Budgets as the scheduler keeps them, half of each spent."""
    found: dict[tuple[TenantId, str], BudgetState] = {}

    def listed(ask: RequestContext, query: GetBudgets | SetBudget) -> BudgetStates:
        own = [one for key, one in sorted(found.items()) if ask.tenant in (SITE, key[0])]
        return BudgetStates(budgets=tuple(own))

    def keep(ask: RequestContext, query: SetBudget) -> BudgetStates:
        key, most = (ask.tenant, query.budget.workspace or ""), query.budget.per_month
        found.pop(key, None)
        if most is not None:
            found[key] = BudgetState(tenant=ask.tenant, budget=query.budget, spent=most / 2, since=MONTH)
        return listed(ask, query)

    others.say(GetBudgets, listed)
    others.say(SetBudget, keep)
    return found


async def put(client: httpx.AsyncClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = await client.put(f"/v1/budgets/{path}", json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def listed(client: httpx.AsyncClient) -> list[tuple[str | None, float, float]]:
    answer = await client.get("/v1/budgets")
    assert answer.status_code == 200, answer.text
    return [(one["workspace"], one["per_month"], one["spent"]) for one in answer.json()["items"]]


async def test_a_workspaces_budget_is_set_listed_recorded_and_taken_away(
    tenant: httpx.AsyncClient, others: Others
) -> None:
    found = await put(tenant, "workspace", workspace="vision", per_month=5000, when_spent="preempt")
    assert (found["per_month"], found["spent"], found["when_spent"]) == (5000.0, 2500.0, "preempt")
    assert datetime.fromisoformat(found["since"]) == MONTH
    assert "workspace 'vision' has no experiments yet" in found["warnings"][0]
    me = (await tenant.get("/v1/me")).json()
    ask, query = others.asked[-1]
    assert (str(ask.tenant), query.budget.preempts) == (me["tenant"], True)
    assert await listed(tenant) == [("vision", 5000.0, 2500.0)]
    (record,) = await recorded(tenant, entity="budget/vision")
    assert record["after"] == {"workspace": "vision", "per_month": 5000.0, "when_spent": "preempt"}
    gone = await put(tenant, "workspace", workspace="vision")
    assert (gone["per_month"], gone["spent"]) == (None, 0.0)
    assert await listed(tenant) == []


async def test_a_tenants_budget_is_said_by_who_keeps_the_site_and_stands_in_both_logs(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    name = (await tenant.get("/v1/me")).json()["tenant_name"]
    await put(tenant, "tenant", 403, per_month=1)
    async with gateway.client() as operator:
        await put(operator, "tenant", tenant=name, per_month=40_000)
        await put(operator, "tenant", 404, tenant="nobody", per_month=1)
        assert await recorded(operator, "/v1/site/audit", entity=f"budget/{name}")
        seen = (await operator.get("/v1/budgets")).json()["items"]
    assert (name, None, 40_000.0) in [(one["tenant"], one["workspace"], one["per_month"]) for one in seen]
    assert await recorded(tenant, entity=f"budget/{name}")
    assert await listed(tenant) == [(None, 40_000.0, 20_000.0)]


async def test_who_leads_a_workspace_sees_its_budget_alone_and_cannot_raise_it(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    name = (await tenant.get("/v1/me")).json()["tenant_name"]
    await put(tenant, "workspace", workspace="vision", per_month=10)
    await put(tenant, "workspace", workspace="speech", per_month=20)
    async with gateway.client() as operator:
        await put(operator, "tenant", tenant=name, per_month=30)
        inside = [one for one in (await operator.get("/v1/budgets")).json()["items"] if one["workspace"]]
    assert not inside, "who keeps the site sees nothing of what is inside of a tenant"
    async with await user(tenant, gateway, "lead", role="workspace-admin", workspace="vision") as lead:
        assert await listed(lead) == [("vision", 10.0, 5.0)], (
            "what all of a tenant costs is not theirs to see"
        )
        refused = await put(lead, "workspace", 403, workspace="vision", per_month=1000)
        assert "in the tenant" in refused["detail"]
    assert await listed(tenant) == [(None, 30.0, 15.0), ("speech", 20.0, 10.0), ("vision", 10.0, 5.0)]


async def test_no_budget_is_less_than_nothing(tenant: httpx.AsyncClient) -> None:
    for amount in (-1, 1e13, "much"):
        refused = await tenant.put("/v1/budgets/workspace", json={"workspace": "vision", "per_month": amount})
        assert refused.status_code in (400, 422) and refused.json()["place"] == "per_month"
    assert (await put(tenant, "workspace", workspace="vision", per_month=0))["per_month"] == 0.0


async def told_of(
    client: httpx.AsyncClient, kinds: tuple[str, ...], last: str, after: str
) -> list[tuple[str, str | None]]:
    """What a stream tells behind a position, up to the experiment `last`: changes and workspaces of budgets, and else the kind."""
    found: list[tuple[str, str | None]] = []
    params = {"kind": [*kinds, "experiment"] if kinds else [], "after": after}
    async with events(client, params=params) as stream:
        while True:
            block = await stream.next()
            if "data" not in block:
                continue
            event = orjson.loads(block["data"])
            if event["kind"] == "budget":
                found.append((event["change"], event["resource"]["workspace"]))
            elif event["entity"] == last:
                return found
            else:
                found.append((event["kind"], None))


async def test_how_far_budgets_are_spent_is_streamed_to_who_asks_and_sees_that_usage(
    tenant: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    whose = TenantId(UUID((await tenant.get("/v1/me")).json()["tenant"]))
    made = await create(tenant, config_yaml=f"{CONFIG}workspace: vision\nproject: detect\n")
    async with events(tenant) as stream:
        begin = (await stream.next())["id"]
    about: dict[str, Any] = {"per_month": 100.0, "since": MONTH, "spent": 81.0}
    reached: list[Any] = [
        kind.model_validate(about | {"budget_id": derived_id(whose, "budget", str(workspace)), "workspace": workspace,
            "percent": percent, "version": percent})
        for kind, workspace, percent in (
            (BudgetWarned, "vision", 80), (BudgetWarned, "speech", 80), (BudgetWarned, None, 80), (BudgetSpent, "vision", 100),
        )
    ]  # fmt: skip
    ranked = RequestRanked(experiment_id=ExperimentId(UUID(made["id"])), version=1, priority=7, weight=2.0)
    await others.announce("scheduler", whose, *reached, ranked)

    async def shown() -> bool:
        return bool((await tenant.get(f"/v1/experiments/{made['id']}")).json()["priority"] == 7)

    await eventually(shown)
    await others.announce("searcher", whose, changed(made, 1))
    vision = [("warned", "vision"), ("spent", "vision")]
    every = [("warned", "vision"), ("warned", "speech"), ("warned", None), ("spent", "vision")]
    assert sorted(await told_of(tenant, ("budget",), made["id"], begin), key=str) == sorted(every, key=str)
    assert await told_of(tenant, (), made["id"], begin) == [], (
        "who names no kind is told of what there was before"
    )
    async with events(tenant, params={"kind": "request", "after": begin}) as stream:
        await stream.next()
        event = orjson.loads((await stream.next())["data"])
        assert (event["change"], event["entity"], event["resource"]["priority"]) == ("ranked", made["id"], 7)
    async with await user(tenant, gateway, "lead", role="workspace-admin", workspace="vision") as lead:
        assert sorted(await told_of(lead, ("budget",), made["id"], begin)) == sorted(vision)
    async with await user(
        tenant, gateway, "hand", role="editor", workspace="vision", project="detect"
    ) as hand:
        assert (await hand.get("/v1/budgets")).json()["items"] == []
