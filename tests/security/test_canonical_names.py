"""Attack: take a name that people mistake for another user's, group's or tenant's."""

import httpx
import pytest

from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seeding import CONFIG


@pytest.mark.parametrize(("path", "code"), [("users", "user_exists"), ("groups", "group_exists")])
async def test_a_name_that_differs_only_in_case_is_taken(
    gateway: Gateway, api: httpx.AsyncClient, path: str, code: str
) -> None:
    made = await api.post(f"/v1/{path}", json={"name": "canonical"})
    assert made.status_code == 201, made.text
    answer = await api.post(f"/v1/{path}", json={"name": "Canonical"})
    assert (answer.status_code, answer.json()["code"]) == (409, code), answer.text
    assert (await api.get(f"/v1/{path}/Canonical")).status_code == 404


async def test_a_workspace_that_differs_only_in_case_is_taken(
    gateway: Gateway, api: httpx.AsyncClient
) -> None:
    """For new experiments and models, whether or not the experiments of the first one still run."""

    async def submit(workspace: str) -> httpx.Response:
        return await api.post(
            "/v1/experiments", json={"config_yaml": f"{CONFIG}workspace: {workspace}\nproject: p\n"}
        )

    made = await submit("vision")
    assert made.status_code == 201, made.text
    for name in ("Vision", "vISION", "\uff36ision"):
        answer = await submit(name)
        assert (answer.status_code, answer.json()["code"]) == (409, "workspace_exists"), answer.text
    model = {"name": "digits", "workspace": "VISION"}
    answer = await api.post("/v1/models", json=model)
    assert (answer.status_code, answer.json()["code"]) == (409, "workspace_exists"), answer.text
    assert (await submit("vision")).status_code == 201
    assert (await submit("visions")).status_code == 201
