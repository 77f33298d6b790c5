"""Webhooks and who may have them: each place its own, secrets sealed, and no address inside."""

from collections.abc import AsyncIterator, Callable
from uuid import UUID

import asyncpg
import httpx
import pytest

from shared.ids import DEFAULT_TENANT, TenantId
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.hooks import QUICK, experiment_changed, hook, submitted
from tests.integration.gateway.receiving import Receiver, receiving
from tests.integration.gateway.sites import made, user
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """One that may call this machine, and soon gives up."""
    found = await start_gateway(settings("gateway"), tmp_path_factory.mktemp("gateway"), **QUICK)
    yield found
    await stop_gateway(found)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def test_no_tenant_hears_of_another(
    gateway: Gateway, api: httpx.AsyncClient, others: Others, receiver: Receiver
) -> None:
    globex = await made(api, "/v1/tenants", {"name": "globex"})
    async with gateway.client(globex["secret"]) as foreign:
        theirs = await hook(foreign, receiver, "/foreign")
        assert (await api.get(f"/v1/webhooks/{theirs['id']}")).status_code == 404
        assert theirs["id"] not in (await api.get("/v1/webhooks", params={"limit": 200})).text
        await hook(api, receiver, "/ours", events=["experiment.active"])
        ours, other = await submitted(api), await submitted(foreign)
        await others.announce("searcher", DEFAULT_TENANT, experiment_changed(ours, 1, "active"))
        tenant = TenantId(UUID(globex["id"]))
        await others.announce("searcher", tenant, experiment_changed(other, 1, "active"))
        await eventually(lambda: bool(receiver.at("/ours") and receiver.at("/foreign")))
    heard = {
        path: {one.event["data"]["experiment"]["id"] for one in receiver.at(path)}
        for path in ("/ours", "/foreign")
    }
    assert heard == {"/ours": {ours["id"]}, "/foreign": {other["id"]}}


async def test_who_manages_a_workspace_manages_its_webhooks_and_no_others(
    gateway: Gateway, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    token = await user(api, "lead", "workspace-admin", workspace="vision")
    tenant_wide, elsewhere = (
        await hook(api, receiver, "/wide"),
        await hook(api, receiver, "/s", workspace="speech"),
    )
    async with gateway.client(token) as lead:
        own = await hook(lead, receiver, "/own", workspace="vision")
        for body in ({}, {"workspace": "speech"}):
            answer = await lead.post("/v1/webhooks", json={"name": "x", "url": receiver.url, **body})
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text
        listed = {one["id"] for one in (await lead.get("/v1/webhooks")).json()["items"]}
        assert own["id"] in listed and not listed & {tenant_wide["id"], elsewhere["id"]}
        for hidden in (tenant_wide, elsewhere):
            for verb, path in (("GET", ""), ("DELETE", ""), ("POST", "/test"), ("GET", "/deliveries")):
                answer = await lead.request(verb, f"/v1/webhooks/{hidden['id']}{path}")
                assert answer.status_code == 404, (verb, path)
    # Who may manage webhooks and see nothing cannot have it told.
    await made(api, "/v1/roles", {"name": "hooker", "permissions": ["webhook.manage"]})
    async with gateway.client(await user(api, "blind", "hooker")) as blind:
        answer = await blind.post("/v1/webhooks", json={"name": "x", "url": receiver.url})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text


async def test_a_repeated_create_is_one_webhook_and_nothing_secret_is_kept_in_the_open(
    gateway: Gateway, api: httpx.AsyncClient, receiver: Receiver, postgres: TestDatabase
) -> None:
    body = {"name": "kept", "url": f"{receiver.url}/T000/canary-path"}
    answers = [await api.post("/v1/webhooks", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json() and answers[0].status_code == 201
    found = answers[0].json()
    assert found["origin"] == receiver.url
    again = await api.post("/v1/webhooks", json=body)
    assert (again.status_code, again.json()["code"]) == (409, "webhook_exists")
    receiver.say("/T000/canary-path", 500)
    await api.post(f"/v1/webhooks/{found['id']}/test")
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    tables = ("webhook", "webhook_delivery", "idempotency", "event", "outbox")
    rows = [
        str(row[0])
        for table in tables
        for row in await connection.fetch(f"SELECT row_to_json({table})::text FROM gateway.{table}")
    ]
    await connection.close()
    for secret in (found["secret"], found["secret"].removeprefix("whsec_"), "canary-path"):
        assert not any(secret in row for row in rows) and secret not in gateway.log.read_text()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/x",
        "https://user:word@example.com/x",
        "https://example.com:25/x",
        "https://10.0.0.1/x",
        "http://1.1.1.1/x",
        "https:///x",
        "https://[fe80::1%25eth0]/",
    ],
)
async def test_addresses_that_may_not_be_called_are_refused_at_once(api: httpx.AsyncClient, url: str) -> None:
    answer = await api.post("/v1/webhooks", json={"name": "inside", "url": url})
    assert (answer.status_code, answer.json()["code"]) == (422, "address_refused"), answer.text


async def test_an_unknown_event_is_named_with_the_one_that_was_meant(api: httpx.AsyncClient) -> None:
    body = {"name": "x", "url": "https://example.com", "events": ["experiment.complete"]}
    problem = (await api.post("/v1/webhooks", json=body)).json()
    assert (problem["code"], problem["hint"]) == ("unknown_event", "did you mean experiment.completed?")
