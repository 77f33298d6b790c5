"""Attack: guess passwords from a list of common ones."""

import httpx
import pytest

from tests.integration.gateway.conftest import Gateway


@pytest.mark.parametrize(
    "password",
    ["password1234", "Password!2026", "P@ssw0rd12345", "qwertyuiop12", "1q2w3e4r5t6y", "123456789012", "muster-muster-1", "letmeinletmein", "Welcome2026!!", "guessed-2026-x"],
)  # fmt: skip
async def test_a_common_password_is_refused(gateway: Gateway, api: httpx.AsyncClient, password: str) -> None:
    await api.post("/v1/users", json={"name": "guessed"})
    answer = await api.put("/v1/users/guessed/password", json={"password": password})
    assert (answer.status_code, answer.json()["code"]) == (422, "weak_password"), answer.text
    assert answer.json()["place"] == "password" and "unrelated words" in answer.json()["hint"]


async def test_unrelated_words_are_accepted(gateway: Gateway, api: httpx.AsyncClient) -> None:
    await api.post("/v1/users", json={"name": "careful"})
    answer = await api.put("/v1/users/careful/password", json={"password": "monkey dragon lantern"})
    assert answer.status_code == 200, answer.text
