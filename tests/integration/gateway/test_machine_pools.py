"""Pools of rented machines by REST, as the gateway asks the provisioner for them: defined, shown, recorded, and refused with the field."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

import httpx
import pytest

from shared.bus import RequestContext
from shared.errors import Rejected
from shared.ids import DEFAULT_TENANT, SITE, PoolName, TenantId
from shared.messages.machine_pools import (
    CloseMachinePool,
    GetMachinePools,
    GetSpending,
    MachinePool,
    MachinePools,
    OfferView,
    SetMachinePool,
    Spending,
    Spendings,
)
from shared.messages.pools import ClusterView, GetCluster
from shared.messages.usage import GetUsage, SlotUsageRow, UsagePage
from tests.integration.gateway.audited import records
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import add_token
from tests.integration.gateway.test_experiments import create
from tests.integration.gateway.test_machines import view
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

NUMBERS = count()
HELD = datetime(2026, 11, 22, 12, tzinfo=UTC)
OFFER = OfferView(
    kind="g5.xlarge",
    provider="aws",
    zone="a",
    purchase="spot",
    slots=1,
    slot_kind="cuda",
    gpu="A10G",
    price_per_hour=0.4,
    held="no capacity: there is none",
    held_until=HELD,
)
BODY: dict[str, Any] = {"kinds": ["g5.xlarge"], "maximum": 4, "spot_share": 0.5, "budget_per_month": 100.0}


@pytest.fixture
async def tenant(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """The client of a new tenant's first admin."""
    async with gateway.client() as operator:
        made = await operator.post("/v1/tenants", json={"name": f"rents-nothing-{next(NUMBERS)}"})
        assert made.status_code == 201, made.text
    async with gateway.client(made.json()["secret"]) as admin:
        yield admin


@pytest.fixture(autouse=True)
def kept(others: Others) -> Iterator[dict[str, MachinePool]]:
    """Pools as the provisioner keeps them."""
    pools: dict[str, MachinePool] = {}

    def listed(ask: RequestContext, query: GetMachinePools) -> MachinePools:
        assert ask.tenant == SITE
        return MachinePools(
            pools=tuple(one for name, one in sorted(pools.items()) if query.pool in (None, name))
        )

    def keep(ask: RequestContext, query: SetMachinePool) -> MachinePools:
        if "smal" in query.definition.kinds:
            raise Rejected(
                "unknown_kind", "the catalogue has no machine kind 'smal'", "kinds", "did you mean 'small'?"
            )
        definition = query.definition
        pools[query.pool] = MachinePool(
            pool=query.pool, definition=definition, minimum=definition.minimum, maximum=definition.maximum,
            instances=2, fault="spot g5.xlarge in a: no capacity", spent=12.5, offers=(OFFER,),
        )  # fmt: skip
        return listed(ask, GetMachinePools(pool=query.pool))

    def close(ask: RequestContext, query: CloseMachinePool) -> MachinePools:
        pools[query.pool] = pools[query.pool].model_copy(update={"is_closing": True})
        return listed(ask, GetMachinePools(pool=query.pool))

    others.say(GetMachinePools, listed)
    others.say(SetMachinePool, keep)
    others.say(CloseMachinePool, close)
    yield pools
    for question in (GetMachinePools, SetMachinePool, CloseMachinePool):
        del others.answers[question]


async def test_a_pool_is_defined_shown_changed_closed_and_each_is_recorded(
    gateway: Gateway, tenant: httpx.AsyncClient
) -> None:
    async with gateway.client() as operator:
        made = await operator.post("/v1/machine-pools", json=BODY | {"name": "burst"})
        assert made.status_code == 201, made.text
        found = (await operator.get("/v1/machine-pools/burst")).json()
        assert (found["kinds"], found["spot_share"], found["spent"]) == (["g5.xlarge"], 0.5, 12.5)
        assert found["fault"] == "spot g5.xlarge in a: no capacity"
        (offer,) = found["offers"]
        assert (offer["held"], offer["price_per_hour"]) == ("no capacity: there is none", 0.4)
        changed = await operator.put("/v1/machine-pools/burst", json=BODY | {"maximum": 9})
        assert changed.json()["maximum"] == 9
        assert (await operator.delete("/v1/machine-pools/burst")).json()["closing"] is True

        async def are_recorded() -> bool:
            return len(await records(operator, "/v1/site/audit", entity="pool/burst")) >= 3

        await eventually(are_recorded)
        assert (await operator.get("/v1/machine-pools/nowhere")).status_code == 404
    seen = (await tenant.get("/v1/machine-pools/burst")).json()
    assert (seen["spent"], seen["budget_per_month"]) == (None, None), "what the site spends is its own"
    denied = [
        await tenant.post("/v1/machine-pools", json=BODY | {"name": "mine"}),
        await tenant.put("/v1/machine-pools/burst", json=BODY),
        await tenant.delete("/v1/machine-pools/burst"),
        await tenant.get("/v1/machine-costs"),
    ]
    assert [answer.status_code for answer in denied] == [403, 404, 404, 403], (
        "denied and absent look the same"
    )


async def test_a_new_pool_is_answered_for_once_the_scheduler_has_heard_of_it(
    gateway: Gateway, others: Others
) -> None:
    asked = count()

    def hears(ask: RequestContext, query: GetCluster) -> ClusterView:
        heard = view()
        new = heard.pools[0].model_copy(update={"pool": PoolName("heard-late")})
        return heard if next(asked) < 2 else heard.model_copy(update={"pools": (*heard.pools, new)})

    others.say(GetCluster, hears)
    async with gateway.client() as operator:
        made = await operator.post("/v1/machine-pools", json=BODY | {"name": "heard-late"})
    del others.answers[GetCluster]
    assert (made.status_code, next(asked)) == (201, 3), "who is answered can submit into it"


async def test_what_cannot_be_is_refused_with_its_field_and_the_way_out(gateway: Gateway) -> None:
    async with gateway.client() as operator:
        wrong = await operator.post("/v1/machine-pools", json=BODY | {"name": "burst", "kinds": ["smal"]})
        problem = wrong.json()
        assert (wrong.status_code, problem["code"], problem["place"]) == (422, "unknown_kind", "kinds")
        assert problem["hint"] == "did you mean 'small'?"
        for body in ({"name": "a b"}, {"name": "x", "maximum": -1}, {"name": "x", "spot_share": 2}):
            assert (await operator.post("/v1/machine-pools", json=BODY | body)).status_code == 400


async def test_costs_are_shown_by_day(gateway: Gateway, others: Others) -> None:
    row = Spending(
        day=HELD.date(),
        pool=PoolName("burst"),
        kind="g5.xlarge",
        purchase="spot",
        instances=2,
        hours=3.5,
        cost=1.4,
    )
    others.say(GetSpending, Spendings(rows=(row,)))
    async with gateway.client() as operator:
        answer = await operator.get(
            "/v1/machine-costs", params={"since": "2026-11-20", "until": "2026-11-22"}
        )
        assert [(one["day"], one["cost"]) for one in answer.json()["items"]] == [("2026-11-22", 1.4)]
        _, query = others.asked[-1]
        assert (str(query.since), str(query.until)) == ("2026-11-20", "2026-11-22")
        assert (await operator.get("/v1/machine-costs", params={"since": "2026-13-45"})).status_code == 400


async def test_shares_of_the_cost_are_told_by_who_held_slots_and_idle_time_apart(
    gateway: Gateway, others: Others, api: httpx.AsyncClient
) -> None:
    made = await create(api)
    day, pool, other = HELD.date(), PoolName("burst"), TenantId(UUID(int=7))
    row = {"day": day, "pool": pool, "kind": "g5", "purchase": "spot", "instances": 1, "hours": 2.0}
    spent = Spending.model_validate(row | {"slot_hours": 8.0, "cost": 4.0})
    mine = SlotUsageRow(day=day, pool=pool, tenant=DEFAULT_TENANT, slot_seconds=7200)
    theirs = mine.model_copy(update={"tenant": other, "slot_seconds": 3600})
    elsewhere = mine.model_copy(update={"pool": PoolName("rack")})

    def used(ask: RequestContext, query: GetUsage) -> UsagePage:
        if ask.tenant != SITE:
            return UsagePage(rows=(mine.model_copy(update={"experiment": UUID(made["id"])}),))
        if "tenant" in query.by:
            return UsagePage(rows=(mine, theirs, elsewhere))
        return UsagePage(rows=(mine.model_copy(update={"tenant": None, "slot_seconds": 10800}),))

    others.say(GetSpending, Spendings(rows=(spent,)))
    others.say(GetUsage, used)
    site = (await api.get("/v1/cost-shares", params={"by": ["tenant"]})).json()
    told = [(one["tenant"], one["idle"], one["slot_hours"], one["cost"]) for one in site["items"]]
    assert sorted(told, key=str) == [
        (str(other), False, 1.0, 0.5),
        ("default", False, 2.0, 1.0),
        (None, True, 5.0, 2.5),
    ], "what ran on machines that nobody rents is not in it"
    assert site["cost"] == 4.0, "the parts add up to the ledger"
    own = (await api.get("/v1/cost-shares", params={"by": ["experiment", "day"]})).json()
    (one,) = own["items"]
    assert (one["experiment"], one["experiment_name"], one["day"]) == (
        made["number"],
        made["name"],
        "2026-11-22",
    )
    assert (one["cost"], one["idle"], own["cost"]) == (1.0, False, 1.0), "the site's idle time is not theirs"


async def test_shares_are_told_to_who_may_see_them(
    gateway: Gateway, others: Others, tenant: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    asked: list[TenantId] = []

    def used(ask: RequestContext, query: GetUsage) -> UsagePage:
        asked.append(ask.tenant)
        return UsagePage(rows=())

    others.say(GetSpending, Spendings(rows=()))
    others.say(GetUsage, used)
    assert (await tenant.get("/v1/cost-shares", params={"by": "tenant"})).status_code == 200
    assert len(set(asked)) == 2 and DEFAULT_TENANT not in asked, "its own, and sums of all"
    token = await add_token(postgres.urls["gateway"].system, gateway.directory, DEFAULT_TENANT, "operator")
    async with gateway.client(token) as operator:
        assert (await operator.get("/v1/cost-shares")).status_code == 200
        refused = await operator.get("/v1/cost-shares", params={"by": "experiment"})
    assert (refused.status_code, refused.json()["place"]) == (403, "by")
