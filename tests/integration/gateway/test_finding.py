"""Experiments are found by their labels and by what their names contain: all that have it and no other, whatever is in the text, and whoever looks; trials by how they stand."""

from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import trial_changed
from tests.integration.gateway.test_experiments import create
from tests.integration.gateway.test_policies import config, post, tenant, user
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

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

_OTHER_COLUMNS = (
    "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE table_schema = 'gateway'"
    " AND table_name = 'experiment' AND column_name NOT IN ('id', 'number')"
)
_COPIES = (
    "INSERT INTO gateway.experiment (id, number, {others}) SELECT gen_random_uuid(), number + n, {others}"
    " FROM gateway.experiment, generate_series(1, $2::int) n WHERE tenant = $1"
)
_PAGE = "SELECT id FROM gateway.experiment WHERE archived = false AND deleting IS false ORDER BY number DESC LIMIT 51"


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
        left = "SELECT count(*) FROM gateway.experiment_search_term WHERE tenant = $1 AND (term = '=new' OR term = '~ren')"
        assert await connection.fetchval(left, owner) == 0
    finally:
        await connection.close()


async def test_a_page_of_many_reads_no_more_than_the_page(
    tenant: httpx.AsyncClient, postgres: TestDatabase
) -> None:
    """Whoever sees everything: the planner once took the policy to hide all but one in two hundred, and read every experiment for each page."""
    await post(tenant, "/v1/experiments", config_yaml=config(), name="first")
    owner = (await tenant.get("/v1/me")).json()["tenant"]
    system = await asyncpg.connect(postgres.urls["gateway"].system)
    try:
        names = await system.fetchval(_OTHER_COLUMNS)
        await system.execute(_COPIES.format(others=names), owner, 3_000)
    finally:
        await system.close()
    keeper = await asyncpg.connect(postgres.urls["gateway"].owner)
    try:
        await keeper.execute("ANALYZE gateway.experiment")
    finally:
        await keeper.close()
    looking = await asyncpg.connect(postgres.urls["gateway"].tenant)
    try:
        await looking.execute(f"SET muster.tenant = '{UUID(owner).hex}'")
        lines = [row[0] for row in await looking.fetch(f"EXPLAIN (ANALYZE) {_PAGE}")]
    finally:
        await looking.close()
    (scan,) = (line for line in lines if " on experiment " in line)
    assert "Index Scan Backward" in scan and "rows=51" in scan.split("actual")[1], lines


async def test_trials_are_listed_by_where_they_stand(api: httpx.AsyncClient, others: Others) -> None:
    """What a script calls invalid is in error to machines, and apart from what failed in lists, as in the experiment's counts."""
    made = await create(api)
    for number, state, invalid in ((1, "error", True), (2, "error", False), (3, "completed", False)):
        told = trial_changed(made, number, state=state, invalid=invalid)
        await others.announce("searcher", DEFAULT_TENANT, told)
    path = f"/v1/experiments/{made['number']}/trials"

    async def shown(*states: str, **more: str) -> list[int]:
        found = await api.get(path, params={"state": list(states), **more})
        return [trial["number"] for trial in found.json()["items"]]

    async def is_told() -> bool:
        return len(await shown()) == 3

    await eventually(is_told)
    assert await shown(invalid="true") == await shown(invalid="true", order="best") == [1]
    assert await shown("error") == [1, 2]
    assert await shown("error", invalid="false") == [2]
    assert await shown("completed", invalid="true") == [1, 3]


async def test_the_best_trials_come_first(api: httpx.AsyncClient, others: Others) -> None:
    made = await create(api)  # a larger accuracy is better
    values = {1: 0.5, 2: 0.9, 3: None, 4: 0.7, 5: 0.9}
    for number, value in values.items():
        best = {"step": 1, "value": value} if value is not None else None
        await others.announce("searcher", DEFAULT_TENANT, trial_changed(made, number, best=best))
    path = f"/v1/experiments/{made['number']}/trials"

    async def shown() -> bool:
        return len((await api.get(path)).json()["items"]) == 5

    await eventually(shown)
    params: dict[str, Any] = {"order": "best", "limit": 2}
    numbers: list[int] = []
    while True:
        page = (await api.get(path, params=params)).json()
        numbers += [trial["number"] for trial in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert numbers == [2, 5, 4, 1, 3]
