"""A site of two tenants, and everybody who may ask something of it. Neighbour: `matrix`, what there is to ask."""

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import grpc
import grpc.aio
import httpx

from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.matrix import Values
from tests.integration.gateway.seeding import Seeded, add_token
from tests.integration.servers import TestDatabase

AT_ONCE = 8
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Site:
    """Two tenants, the first with two workspaces that hold one of each kind, and callers of every sort by what they are."""

    client: httpx.AsyncClient
    channel: grpc.aio.Channel
    theirs: Values
    """What belongs to the first workspace of the first tenant."""
    own: dict[str, Values]
    """What each outsider has itself."""
    outsiders: dict[str, str]
    refused: dict[str, str]
    roles: dict[str, str]
    insider: str

    async def each(self, asked: Iterable[Awaitable[str | None]]) -> None:
        """Asks a few at a time; says all that is wrong at once."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(question: Awaitable[str | None]) -> str | None:
            async with gate:
                return await question

        wrong = [found for found in await asyncio.gather(*map(one, asked)) if found]
        assert not wrong, "\n".join(wrong)


async def done(api: httpx.AsyncClient, path: str, body: Any) -> dict[str, Any]:
    answer = await api.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def made(api: httpx.AsyncClient, path: str, body: Any) -> dict[str, Any]:
    answer = await api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def user(api: httpx.AsyncClient, name: str, role: str, **place: str) -> str:
    """A user with one role, and its token."""
    await made(api, "/v1/users", {"name": name, "kind": "service_account"})
    await made(api, "/v1/role-bindings", {"role": role, "user": name, **place})
    secret: str = (await made(api, f"/v1/users/{name}/tokens", {"name": name}))["secret"]
    return secret


def named(seeded: Seeded, api_names: Values) -> Values:
    """What was seeded, by the fields that name it."""
    return {
        "experiment": seeded.experiment["id"],
        "trial": str(seeded.trial),
        "checkpoint": str(seeded.checkpoint),
        "model": str(seeded.model),
        "id": seeded.experiment["id"],
        "experiments": seeded.experiment["id"],
        "workspace": seeded.experiment["workspace"],
        "project": seeded.experiment["project"],
        "reservation": str(uuid4()),
        "export": str(uuid4()),
        "operation": str(uuid4()),
        **api_names,
    }


async def people_of(api: httpx.AsyncClient, name: str, workspace: str) -> Values:
    """One of each kind of who has access."""
    await made(api, "/v1/users", {"name": name})
    group = await made(api, "/v1/groups", {"name": f"{name}s"})
    await made(api, "/v1/roles", {"name": f"{name}-role", "permissions": ["experiment.read"]})
    grant = {"role": f"{name}-role", "group": group["name"], "workspace": workspace}
    binding = await made(api, "/v1/role-bindings", grant)
    part = {"name": f"{name}-template", "workspace": workspace, "config": {"max_restarts": 1}}
    template = await made(api, "/v1/templates", part)
    token = await made(api, "/v1/tokens", {"name": name, "role": "viewer"})
    to = {"name": f"{name}-hook", "url": "https://example.invalid/x", "workspace": workspace}
    webhook = await made(api, "/v1/webhooks", to)
    view = {"name": f"{name}-view", "address": "/experiments"}
    assert (await api.put("/v1/views", json=view)).status_code == 200
    me = (await api.get("/v1/me")).json()
    ids = {"binding": binding["id"], "token": token["id"], "tenant": me["tenant_name"]}
    ids |= {"webhook": webhook["id"], "view": view["name"]}
    provider = "here" if me["tenant_name"] == "default" else "there"
    identity = await done(api, f"/v1/users/{name}/identities", {"provider": provider, "subject": name})
    await api.put(f"/v1/users/{name}/password", json={"password": PASSWORD})
    signed_in = {"tenant": me["tenant_name"], "user": name, "password": PASSWORD}
    session = await done(api, "/v1/sessions", signed_in)
    ids |= {"identity": identity["id"], "session": session["id"], "provider": provider}
    return {"user": name, "group": f"{name}s", "role": f"{name}-role", "template": template["name"], **ids}


async def refused(gateway: Gateway, admin: httpx.AsyncClient, postgres: TestDatabase) -> dict[str, str]:
    """Tokens that count no more, or never did."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    system = postgres.urls["gateway"].system
    expired = await add_token(system, gateway.directory, DEFAULT_TENANT, "admin", "old", past)
    gone = await made(admin, "/v1/tokens", {"name": "gone", "role": "admin"})
    await admin.delete(f"/v1/tokens/{gone['id']}")
    signed_in = {"user": "once", "password": PASSWORD}
    await made(admin, "/v1/users", {"name": "once"})
    await admin.put("/v1/users/once/password", json={"password": PASSWORD})
    session = await done(admin, "/v1/sessions", signed_in)
    await admin.delete("/v1/users/once/sessions")
    disabled = await user(admin, "left", "admin")
    await admin.patch("/v1/users/left", json={"disabled": True})
    return {
        "anonymous": "",
        "unknown": "mst_" + "A" * 43,
        "malformed": "nonsense",
        "expired": expired,
        "revoked": gone["secret"],
        "disabled": disabled,
        "ended session": session["secret"],
        "unknown session": "mss_" + "A" * 43,
        "unsigned": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.AA",
    }
