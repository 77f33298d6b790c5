"""Experiments are found by their labels and by what their names contain: all that have it and no other, whatever is in the text, and whoever looks."""

from typing import Any

import asyncpg
import httpx
import pytest

from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.test_policies import config, post, tenant, user
from tests.integration.servers import TestDatabase

__all__ = ["tenant"]
NAMES = [
    "Run 17 of ärger and ARGER",
    "run 170",
    "100% sure_thing",
    "a",
    "ab",
    "bab",
    "abcabcabc",
    "back\\slash",
    "ünï",
    "Digits",
]


async def listed(client: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await client.get("/v1/experiments", params=query)
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["items"]]


@pytest.fixture
async def named(tenant: httpx.AsyncClient) -> list[str]:
    """Names as they are listed: newest first."""
    for number, name in enumerate(NAMES):
        await post(
            tenant, "/v1/experiments", config_yaml=config(), name=name, labels=[f"of-{number % 2}", name]
        )
    return NAMES[::-1]


@pytest.mark.usefixtures("named")
async def test_a_text_is_found_in_names_whatever_its_length_and_letters(tenant: httpx.AsyncClient) -> None:
    texts = {
        one[begin:end] for one in NAMES for begin in range(len(one)) for end in range(begin + 1, len(one) + 1)
    }
    others = ["RUN 17", "ARGER", "%", "_", "\\", "abca", "cab", "zz", "run 171", "abd", "absent"]
    for text in [*sorted(texts)[::7], *others]:
        expected = [one for one in NAMES[::-1] if text.lower() in one.lower()]
        assert await listed(tenant, name_contains=text) == expected, text


async def test_labels_and_names_narrow_together_and_pages_go_on(
    tenant: httpx.AsyncClient, named: list[str]
) -> None:
    odd = NAMES[1::2][::-1]
    assert await listed(tenant, label="of-1") == odd
    assert await listed(tenant, label=["of-1", "ab"]) == [] and await listed(
        tenant, label=["of-0", "ab"]
    ) == ["ab"]
    assert await listed(tenant, label="of-1", name_contains="a") == [one for one in odd if "a" in one.lower()]
    assert await listed(tenant, label="of-1", state="error") == []
    first = (await tenant.get("/v1/experiments", params={"label": "of-1", "limit": 2})).json()
    rest = {"label": "of-1", "limit": 20, "cursor": first["next_cursor"]}
    assert [one["name"] for one in first["items"]] + await listed(tenant, **rest) == odd


@pytest.mark.usefixtures("named")
async def test_who_sees_a_workspace_finds_nothing_of_others(
    tenant: httpx.AsyncClient, gateway: Gateway
) -> None:
    await post(tenant, "/v1/experiments", config_yaml=config("speech"), name="run 171", labels=["of-1"])
    async with await user(tenant, gateway, "one", role="viewer", workspace="speech") as one:
        assert await listed(one, name_contains="run 17") == await listed(one, label="of-1") == ["run 171"]
        assert await listed(one, name_contains="digits") == []
    async with gateway.client() as stranger:
        assert "run 171" not in await listed(stranger, name_contains="run 171")


@pytest.mark.usefixtures("named")
async def test_another_name_is_found_whoever_writes_it_and_what_is_deleted_is_not(
    tenant: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    """Behind the gateway's back: the database keeps the words by itself, and lists show what is there now."""
    owner = (await tenant.get("/v1/me")).json()["tenant"]
    assert await listed(tenant, name_contains="Digits") == ["Digits"]
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    try:
        change = "UPDATE gateway.experiment SET name = 'renamed', labels = '{new}' WHERE tenant = $1 AND name = 'Digits'"
        await connection.execute(change, owner)
        assert await listed(tenant, name_contains="digits") == await listed(tenant, label="Digits") == []
        assert await listed(tenant, name_contains="NAMED") == await listed(tenant, label="new") == ["renamed"]
        assert (await listed(tenant))[0] == "renamed"
        await connection.execute(
            "DELETE FROM gateway.experiment WHERE tenant = $1 AND name = 'renamed'", owner
        )
        assert await listed(tenant, label="new") == []
        left = "SELECT count(*) FROM gateway.experiment_term WHERE tenant = $1 AND (term = '=new' OR term = '~ren')"
        assert await connection.fetchval(left, owner) == 0
    finally:
        await connection.close()
