"""Attack: take a name that people mistake for another user's, group's or tenant's."""

import httpx
import pytest

from tests.integration.gateway.conftest import Gateway


@pytest.mark.parametrize(("path", "code"), [("users", "user_exists"), ("groups", "group_exists")])
async def test_a_name_that_differs_only_in_case_is_taken(
    gateway: Gateway, api: httpx.AsyncClient, path: str, code: str
) -> None:
    made = await api.post(f"/v1/{path}", json={"name": "canonical"})
    assert made.status_code == 201, made.text
    answer = await api.post(f"/v1/{path}", json={"name": "Canonical"})
    assert (answer.status_code, answer.json()["code"]) == (409, code), answer.text
    assert (await api.get(f"/v1/{path}/Canonical")).status_code == 404
