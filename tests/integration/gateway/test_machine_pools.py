"""Pools of rented machines by REST, as the gateway asks the provisioner for them: defined, shown, recorded, and refused with the field."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx
import pytest

from shared.bus import Ask
from shared.errors import Rejected
from shared.ids import SITE, PoolName
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
from tests.integration.gateway.audited import recorded
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_machines import view

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
        made = await operator.post("/v1/tenants", json={"name": "rents-nothing"})
        assert made.status_code == 201, made.text
    async with gateway.client(made.json()["secret"]) as admin:
        yield admin


@pytest.fixture(autouse=True)
def kept(others: Others) -> Iterator[dict[str, MachinePool]]:
    """Pools as the provisioner keeps them."""
    pools: dict[str, MachinePool] = {}

    def listed(ask: Ask, query: GetMachinePools) -> MachinePools:
        assert ask.tenant == SITE
        return MachinePools(
            pools=tuple(one for name, one in sorted(pools.items()) if query.pool in (None, name))
        )

    def keep(ask: Ask, query: SetMachinePool) -> MachinePools:
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

    def close(ask: Ask, query: CloseMachinePool) -> MachinePools:
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
        records = await recorded(operator, "/v1/site/audit", entity="pool/burst")
        assert len(records) >= 2
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

    def hears(ask: Ask, query: GetCluster) -> ClusterView:
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
