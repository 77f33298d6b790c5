"""Usage over the API: the caller's tenant alone, names in the place of ids, complete, as JSON and as CSV."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.bus import RequestContext
from shared.ids import DEFAULT_TENANT, SITE
from shared.messages.usage import GetUsage, SlotUsageRow, UsagePage
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import add_token
from tests.integration.gateway.test_experiments import create
from tests.integration.servers import TestDatabase

PERIOD = {"since": "2026-11-01", "until": "2026-11-02T00:00:00+01:00"}


def page(**used: object) -> UsagePage:
    return UsagePage(rows=(SlotUsageRow.model_validate({"slot_seconds": 12.5, **used}),))


async def test_usage_is_told_with_names_and_the_period_that_was_asked_for(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await create(api)
    pages = [
        UsagePage(
            rows=(SlotUsageRow(experiment=UUID(made["id"]), user="ada", slot_seconds=7200.2500001),),
            next=("a", "b"),
        ),
        page(experiment=UUID(int=1), user="ada"),
    ]
    others.say(GetUsage, lambda ask, query: pages[query.after is not None])
    found = (await api.get("/v1/usage", params={"by": ["experiment", "user"], **PERIOD})).json()
    first, gone = found["items"]
    assert (first["experiment"], first["experiment_name"], first["user"]) == (
        made["number"],
        made["name"],
        "ada",
    )
    assert (gone["experiment"], found["slot_seconds"]) == (None, 7212.75)
    ask, query = others.asked[-1]
    assert (ask.tenant, query.after) == (DEFAULT_TENANT, ("a", "b"))
    assert (query.since, query.until) == (
        datetime(2026, 11, 1, tzinfo=UTC),
        datetime(2026, 11, 1, 23, tzinfo=UTC),
    )
    table = await api.get("/v1/usage", params={"by": ["experiment", "user"]}, headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines() == [
        "experiment,experiment_name,user,slot_seconds,cost,unpriced_slot_seconds",
        f"{made['number']},{made['name']},ada,7200.25,0.0,0.0",
        ",,ada,12.5,0.0,0.0",
    ]


async def test_usage_by_label_is_divided_and_adds_up_with_its_cost(
    api: httpx.AsyncClient, others: Others
) -> None:
    both = await create(api, labels=["thesis", "vision"])
    rows = (
        SlotUsageRow(experiment=UUID(both["id"]), slot_seconds=100.0, cost=5.0, unpriced_slot_seconds=20.0),
        SlotUsageRow(experiment=UUID(int=1), slot_seconds=7.0),
    )
    others.say(GetUsage, UsagePage(rows=rows))
    found = (await api.get("/v1/usage", params={"by_label": "true"})).json()
    assert [(row["label"], row["slot_seconds"], row["cost"]) for row in found["items"]] == [
        (None, 7.0, 0.0),
        ("thesis", 50.0, 2.5),
        ("vision", 50.0, 2.5),
    ]
    assert (found["slot_seconds"], found["cost"], found["unpriced_slot_seconds"]) == (107.0, 5.0, 20.0)
    assert others.asked[-1][1].by == ("experiment",)
    table = await api.get("/v1/usage", params={"by_label": "true"}, headers={"Accept": "text/csv"})
    assert table.text.splitlines()[0::2] == [
        "label,slot_seconds,cost,unpriced_slot_seconds",
        "thesis,50.0,2.5,10.0",
    ]


async def test_without_a_period_it_is_the_last_thirty_days_by_workspace(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(GetUsage, page(workspace="vision"))
    found = (await api.get("/v1/usage")).json()
    assert (found["by"], found["items"][0]["workspace"]) == (["workspace"], "vision")
    since, until = (datetime.fromisoformat(found[name]) for name in ("since", "until"))
    assert until - since == timedelta(days=30)


async def test_days_are_whole_ones_of_utc_and_told_as_dates(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetUsage, page(day="2026-11-01", workspace="vision"))
    asked = httpx.QueryParams({"by": ["day", "workspace"], "days": 2, "until": "2026-11-02T00:00:00Z"})
    found = (await api.get("/v1/usage", params=asked)).json()
    assert (found["since"], found["items"][0]["day"]) == ("2026-10-31T00:00:00Z", "2026-11-01")
    found = (await api.get("/v1/usage", params=asked.set("until", "2026-11-02T00:00:01Z"))).json()
    assert found["since"] == "2026-11-01T00:00:00Z"
    table = await api.get("/v1/usage", params=asked, headers={"Accept": "text/csv"})
    assert table.text.splitlines()[1] == "2026-11-01,vision,12.5,0.0,0.0"


@pytest.mark.parametrize(
    ("parameters", "code", "place"),
    [
        ({"since": "2026-11-02", "days": "3"}, "bad_period", "days"),
        ({"since": "2026-11-02", "until": "2026-11-01"}, "bad_period", "since"),
        ({"by": "colour"}, "invalid_request", "by"),
        ({"since": "yesterday"}, "invalid_request", "since"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_its_place(
    api: httpx.AsyncClient, parameters: dict[str, str], code: str, place: str
) -> None:
    refused = await api.get("/v1/usage", params=parameters)
    assert refused.status_code in (400, 422)
    assert (refused.json()["code"], refused.json()["place"]) == (code, place)


async def test_an_operator_sees_how_much_each_tenant_uses_and_not_for_what(
    gateway: Gateway, others: Others, postgres: TestDatabase
) -> None:
    token = await add_token(postgres.urls["gateway"].system, gateway.directory, DEFAULT_TENANT, "operator")
    others.say(GetUsage, lambda ask, query: page(tenant=DEFAULT_TENANT, pool="default"))
    async with gateway.client(token) as operator:
        refused = await operator.get("/v1/usage", params={"by": "user"})
        assert refused.status_code == 403 and refused.json()["place"] == "by"
        found = (await operator.get("/v1/usage", params={"by": ["tenant", "pool"]})).json()
    ask: RequestContext = others.asked[-1][0]
    assert ask.tenant == SITE
    assert (found["items"][0]["tenant"], found["items"][0]["pool"]) == ("default", "default")


async def test_grpc_tells_the_same(gateway: Gateway, others: Others) -> None:
    others.say(GetUsage, page(workspace="vision"))
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        found = await stub.GetUsage(
            muster_pb2.UsageRequest(),
            metadata=(("authorization", f"Bearer {gateway.admin_token}"),),
            timeout=10,
        )
    assert [(row.workspace, row.slot_seconds) for row in found.items] == [("vision", 12.5)]
