"""What was made under a key is made once, and its answer is the same for a day: also one that shows a secret, which nobody finds in the database."""

import asyncio
import base64
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import asyncpg
import httpx
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.operation import Idempotency
from shared.messages.machine_pools import MachinePool, MachinePools, SetMachinePool
from shared.messages.pools import GetCluster
from shared.messages.reservations import GetReservations, ReservationList, ReservationView, ReserveSlots
from shared.messages.workers import IssuedJoin, IssueJoin
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import CONFIG
from tests.integration.gateway.sites import made
from tests.integration.gateway.test_experiments import next_command
from tests.integration.gateway.test_machines import view
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

NUMBERS = count()
BEGIN = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
BOOKING = {"pool": "default", "slots": 1, "begins_at": BEGIN.isoformat()}
BOOKING |= {"ends_at": (BEGIN + timedelta(hours=1)).isoformat()}
CREATES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "CreateExperiment": ("/v1/experiments", {"config_yaml": CONFIG}, {"config_yaml": CONFIG, "name": "x"}),
    "CreateUser": ("/v1/users", {"name": "kept-{n}"}, {"name": "kept-{n}-other"}),
    "CreateGroup": ("/v1/groups", {"name": "kept-{n}"}, {"name": "kept-{n}-other"}),
    "CreateRole": (
        "/v1/roles",
        {"name": "kept-{n}", "permissions": ["model.read"]},
        {"name": "kept-{n}", "permissions": ["experiment.read"]},
    ),
    "CreateTemplate": (
        "/v1/templates",
        {"name": "kept-{n}", "config": {"max_restarts": 1}},
        {"name": "kept-{n}", "config": {"max_restarts": 2}},
    ),
    "CreateToken": ("/v1/tokens", {"name": "x", "role": "viewer"}, {"name": "x", "role": "editor"}),
    "CreateUserToken": ("/v1/users/holder/tokens", {"name": "x"}, {"name": "y"}),
    "CreateTenant": ("/v1/tenants", {"name": "kept-{n}"}, {"name": "kept-{n}-other"}),
    "RecoverTenant": ("/v1/tenants/default/recover", {}, {"ttl_s": 3600}),
    "GrantRole": (
        "/v1/role-bindings",
        {"user": "holder", "role": "viewer", "workspace": "w{n}"},
        {"user": "holder", "role": "editor", "workspace": "w{n}"},
    ),
    "CreateMachinePool": (
        "/v1/machine-pools",
        {"name": "kept-{n}", "kinds": ["small"], "maximum": 1},
        {"name": "kept-{n}", "kinds": ["small"], "maximum": 2},
    ),
    "IssueJoinToken": ("/v1/join-tokens", {"pool": "default"}, {"pool": "other"}),
}
SECRETS = ("secret", "token")


@pytest.fixture(scope="module")
async def holder(gateway: Gateway, others: Others) -> None:
    async with gateway.client() as api:
        await made(api, "/v1/users", {"name": "holder", "kind": "service_account"})
    numbers = count()

    def issue(_: Any, query: IssueJoin) -> IssuedJoin:
        return IssuedJoin(token=f"join-{query.pool}-{next(numbers)}", expires_at=datetime.now(UTC))

    def keep(_: Any, query: SetMachinePool) -> MachinePools:
        pool = MachinePool(
            pool=query.pool, definition=query.definition, minimum=0, maximum=1, instances=next(numbers)
        )
        return MachinePools(pools=(pool,))

    others.say(IssueJoin, issue)
    others.say(SetMachinePool, keep)


def test_every_create_is_asked_twice() -> None:
    """A new one says here how; those that send a command are asked in tests of their own."""
    commands = {"ForkExperiment", "CreateModel", "CreateModelVersion", "CreateReservation"}
    creating = {
        row.name for row in OPERATIONS if row.status == 201 and row.idempotent is Idempotency.KEY
    } - commands
    assert creating <= set(CREATES) | OF_OTHERS


OF_OTHERS = {"CreateWebhook", "CreateSignInLink"}
"""Creates whose own tests ask them twice."""


@pytest.mark.parametrize("name", CREATES)
@pytest.mark.usefixtures("holder")
async def test_the_same_again_has_the_same_answer(
    api: httpx.AsyncClient, name: str, postgres: TestDatabase
) -> None:
    number = next(NUMBERS)
    path, body, other = CREATES[name]
    body, other = (
        {
            key: value.replace("{n}", str(number)) if isinstance(value, str) else value
            for key, value in one.items()
        }
        for one in (body, other)
    )
    key = {"Idempotency-Key": f"key-{name}-{number}"}
    answers = await asyncio.gather(*(api.post(path, json=body, headers=key) for _ in range(4)))
    assert [answer.status_code for answer in answers] == [201] * 4, answers[0].text
    assert len({answer.text for answer in answers}) == 1
    later = await api.post(path, json=body, headers=key)
    assert later.text == answers[0].text
    changed = await api.post(path, json=other, headers=key)
    assert (changed.status_code, changed.json()["code"]) == (409, "idempotency_key_reused")
    found = answers[0].json()
    for secret in (found[field] for field in SECRETS if field in found):
        assert not await holds(postgres.urls["gateway"].system, secret)


async def holds(url: str, secret: str) -> bool:
    """Whether a table of the gateway holds the secret, as it is or in base64."""
    connection = await asyncpg.connect(url)
    try:
        names = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'gateway' AND tablename <> 'alembic_version'"
        )
        rows = [
            str(row["text"])
            for name in names
            for row in await connection.fetch(f'SELECT t::text AS text FROM gateway."{name["tablename"]}" t')
        ]
    finally:
        await connection.close()
    spelled = (secret, base64.b64encode(secret.encode()).decode(), secret.encode().hex())
    return any(one in row for row in rows for one in spelled)


async def test_a_secret_is_not_told_to_another_token(api: httpx.AsyncClient, gateway: Gateway) -> None:
    """Of the same name, under the same key, with the same request."""
    key, body = {"Idempotency-Key": "theirs"}, {"name": "deep", "role": "viewer"}
    tokens = [(await made(api, "/v1/tokens", {"name": "twin", "role": "admin"}))["secret"] for _ in range(2)]
    async with gateway.client(tokens[0]) as one, gateway.client(tokens[1]) as other:
        first = await one.post("/v1/tokens", json=body, headers=key)
        second = await other.post("/v1/tokens", json=body, headers=key)
    assert first.status_code == 201
    assert second.status_code == 409 and first.json()["secret"] not in second.text


async def test_another_tenant_has_keys_of_its_own(api: httpx.AsyncClient, gateway: Gateway) -> None:
    tenant = await made(api, "/v1/tenants", {"name": "keys"})
    key = {"Idempotency-Key": "shared"}
    async with gateway.client(tenant["secret"]) as theirs:
        mine = await api.post("/v1/users", json={"name": "same"}, headers=key)
        other = await theirs.post("/v1/users", json={"name": "same"}, headers=key)
    assert mine.status_code == other.status_code == 201
    assert mine.json()["id"] != other.json()["id"]


async def test_a_reservation_is_booked_once(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, view("w1"))
    others.say(GetReservations, ReservationList(items=()))
    key = {"Idempotency-Key": "booking"}
    asking = asyncio.create_task(api.post("/v1/reservations", json=BOOKING, headers=key))
    sent: list[ReserveSlots] = []

    async def is_sent() -> bool:
        command = await next_command(others, ReserveSlots)
        assert isinstance(command, ReserveSlots)
        sent.append(command)
        return command.begins_at == BEGIN

    await eventually(is_sent)
    kept = sent[-1].model_dump(exclude={"operation_id", "expected_version"})
    others.say(GetReservations, ReservationList(items=(ReservationView(**kept),)))
    first = await asking
    assert first.status_code == 201, first.text
    others.say(GetReservations, ReservationList(items=()))
    again = await api.post("/v1/reservations", json=BOOKING, headers=key)
    assert again.text == first.text
