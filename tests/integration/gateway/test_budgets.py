"""What may be spent in a month: said by whom it is for to say, kept to by the scheduler, and told to who sees that usage."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from shared.bus import Ask
from shared.ids import SITE, TenantId
from shared.messages.budgets import BudgetState, BudgetStates, GetBudgets, SetBudget
from tests.integration.gateway.audited import recorded
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_policies import tenant, user

__all__ = ["tenant"]
MONTH = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def kept(others: Others) -> dict[tuple[TenantId, str], BudgetState]:
    """Budgets as the scheduler keeps them, half of each spent."""
    found: dict[tuple[TenantId, str], BudgetState] = {}

    def listed(ask: Ask, query: GetBudgets | SetBudget) -> BudgetStates:
        own = [one for key, one in sorted(found.items()) if ask.tenant in (SITE, key[0])]
        return BudgetStates(budgets=tuple(own))

    def keep(ask: Ask, query: SetBudget) -> BudgetStates:
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
    assert "no experiment of this tenant is in the workspace 'vision' yet" in found["warnings"][0]
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
