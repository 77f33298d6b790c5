"""A tenant whose audit log is looked at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.integration.gateway.conftest import Gateway
from tests.support.waiting import eventually


@asynccontextmanager
async def new_tenant(gateway: Gateway, name: str) -> AsyncIterator[httpx.AsyncClient]:
    """The client of a new tenant's first admin."""
    async with gateway.client() as operator:
        made = await operator.post("/v1/tenants", json={"name": name})
        assert made.status_code == 201, made.text
    async with gateway.client(made.json()["secret"]) as admin:
        yield admin


async def records(client: httpx.AsyncClient, path: str = "/v1/audit", **wanted: Any) -> list[dict[str, Any]]:
    """Newest first, over all pages."""
    found: list[dict[str, Any]] = []
    asked = wanted | {"limit": 50}
    while True:
        answer = await client.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        asked["cursor"] = page["next_cursor"]


async def recorded(client: httpx.AsyncClient, path: str = "/v1/audit", **wanted: Any) -> list[dict[str, Any]]:
    """The same, once there is one."""

    async def are() -> bool:
        return bool(await records(client, path, **wanted))

    await eventually(are)
    return await records(client, path, **wanted)


async def user(tenant: httpx.AsyncClient, name: str, role: str) -> str:
    for path, body in (
        ("/v1/users", {"name": name}),
        ("/v1/role-bindings", {"role": role, "user": name}),
    ):
        assert (await tenant.post(path, json=body)).status_code == 201
    secret: str = (await tenant.post(f"/v1/users/{name}/tokens", json={"name": name})).json()["secret"]
    return secret
