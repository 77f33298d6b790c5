"""User secrets: nobody reads a value back, and only a run of the workspace that references it gets it, on a machine that runs it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest

from muster.errors import MusterError, Rejected
from shared.auth import nats_jwt
from shared.auth.sealed_box import open_sealed
from shared.bus import Bus
from shared.ids import DEFAULT_TENANT, WorkerId
from shared.messages.runs import AllocationFacts, GetAllocation
from shared.messages.secrets import GetRunSecret
from shared.messages.workers import GetWorkerKey, WorkerKey
from tests.integration.gateway.audited import recorded, records
from tests.integration.gateway.conftest import Gateway, Others, start_replica, stop_gateway
from tests.integration.gateway.seeding import NOW
from tests.integration.gateway.sites import made, user
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

VALUE = "hf_q7J2vXrT0bLwYcPz"
CONFIG = """\
name: secretive
workspace: {workspace}
project: detect
entrypoint: python3 -m train
environment: {{secrets: {secrets}}}
searcher: {{name: single, metric: loss}}
"""
MEMBER, STRANGER = WorkerId("w-member"), WorkerId("w-stranger")
SEED = nats_jwt.new_seed(nats_jwt.KeyKind.USER, bytes(range(32)))


@dataclass(frozen=True)
class Runs:
    """Runs that the scheduler claims to have granted, and workers that ask for their secrets."""

    others: Others

    def grant(self, experiment: dict[str, Any], holders: tuple[WorkerId, ...] = (MEMBER,)) -> UUID:
        """A run of this experiment on these workers."""
        run = uuid4()
        facts = AllocationFacts(
            tenant=DEFAULT_TENANT,
            experiment_id=experiment["id"],
            trial_id=uuid4(),
            run_id=run,
            run_number=1,
            token=1,
            members=(MEMBER,),
            holders=holders,
        )
        self.others.say(GetAllocation, facts)
        key = nats_jwt.public_key(SEED)
        self.others.say(
            GetWorkerKey, lambda _, query: WorkerKey(worker=query.worker, user_key=key, expires_at=NOW)
        )
        return run

    async def ask(self, run: UUID, name: str, worker: WorkerId = MEMBER) -> str:
        bus: Bus = self.others.buses["admin"]
        sealed = await bus.request(GetRunSecret(run_id=run, name=name), worker)
        assert VALUE not in sealed.sealed
        return open_sealed(SEED, sealed.sealed).decode()


@pytest.fixture
def runs(others: Others) -> Runs:
    return Runs(others)


async def set_secret(api: httpx.AsyncClient, workspace: str, name: str, value: str = VALUE) -> httpx.Response:
    return await api.put(f"/v1/workspaces/{workspace}/secrets/{name}", json={"secret_value": value})


async def submit(api: httpx.AsyncClient, workspace: str, secrets: str) -> dict[str, Any]:
    text = CONFIG.format(workspace=workspace, secrets=secrets)
    return await made(api, "/v1/experiments", {"config_yaml": text})


@pytest.fixture
async def globex(gateway: Gateway, api: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """The admin of another tenant."""
    tenant = await made(api, "/v1/tenants", {"name": f"t{uuid4().hex[:8]}"})
    async with gateway.client(tenant["secret"]) as foreign:
        yield foreign


async def test_no_answer_contains_a_value(api: httpx.AsyncClient) -> None:
    answers = [
        await set_secret(api, "vision", "HF_TOKEN"),
        await api.get("/v1/workspaces/vision/secrets"),
        await set_secret(api, "vision", "HF_TOKEN", VALUE + "-second"),
        await set_secret(api, "vision", "not-a-name"),
        await api.put("/v1/workspaces/vision/secrets/HF_TOKEN", json={"secret_value": VALUE, "more": 1}),
        await api.put("/v1/workspaces/vision/secrets/HF_TOKEN", json={"secret_value": [VALUE]}),
        await api.get("/v1/workspaces/vision/secrets/HF_TOKEN"),
        await api.delete("/v1/workspaces/vision/secrets/HF_TOKEN"),
    ]
    assert [one.status_code for one in answers] == [200, 200, 200, 400, 400, 400, 405, 200]
    assert [one["name"] for one in answers[1].json()["items"]] == ["HF_TOKEN"]
    assert not [one.text for one in answers if VALUE in one.text]


async def test_a_value_that_cannot_be_masked_or_used_is_refused(api: httpx.AsyncClient) -> None:
    for value in ("b4dV4l", "x" * 65_537, "é" * 40_000):
        answer = await set_secret(api, "vision", "BAD", value)
        assert answer.status_code in (400, 422) and answer.json()["place"] == "secret_value", answer.text
        assert value[:5] not in answer.json()["detail"]


async def test_other_tenants_other_workspaces_and_viewers_find_nothing(
    gateway: Gateway, api: httpx.AsyncClient, globex: httpx.AsyncClient
) -> None:
    assert (await set_secret(api, "vision", "HF_TOKEN")).status_code == 200
    tokens = {
        "elsewhere": await user(api, f"e{uuid4().hex[:8]}", "editor", workspace="speech"),
        "viewer": await user(api, f"v{uuid4().hex[:8]}", "viewer", workspace="vision"),
        "project": await user(api, f"p{uuid4().hex[:8]}", "editor", workspace="vision", project="detect"),
    }
    for token in tokens.values():
        async with gateway.client(token) as caller:
            for verb, path, body in (
                ("GET", "", None),
                ("PUT", "/HF_TOKEN", {"secret_value": "overwritten"}),
                ("PUT", "/NEW", {"secret_value": "overwritten"}),
                ("DELETE", "/HF_TOKEN", None),
            ):
                answer = await caller.request(verb, f"/v1/workspaces/vision/secrets{path}", json=body)
                assert answer.status_code in (403, 404), (verb, path, answer.text)
                assert "HF_TOKEN was" not in answer.text
    assert (await globex.get("/v1/workspaces/vision/secrets")).json()["items"] == []
    assert (await globex.delete("/v1/workspaces/vision/secrets/HF_TOKEN")).status_code == 404
    assert (await set_secret(globex, "vision", "HF_TOKEN", "of the other tenant")).status_code == 200
    listed = (await api.get("/v1/workspaces/vision/secrets")).json()["items"]
    assert [one["by"] for one in listed] == ["admin"], listed
    async with gateway.client(await user(api, f"w{uuid4().hex[:8]}", "editor", workspace="vision")) as editor:
        assert (await set_secret(editor, "vision", "THEIRS")).status_code == 200
        assert (await editor.delete("/v1/workspaces/vision/secrets/THEIRS")).status_code == 200


async def test_an_experiment_may_reference_secrets_of_its_own_workspace_only(
    api: httpx.AsyncClient, globex: httpx.AsyncClient
) -> None:
    await set_secret(api, "vision", "HF_TOKEN")
    for client, workspace in ((api, "speech"), (globex, "vision")):
        text = CONFIG.format(workspace=workspace, secrets="[HF_TOKEN]")
        answer = await client.post("/v1/experiments", json={"config_yaml": text})
        assert (answer.status_code, answer.json()["code"]) == (422, "secret_missing"), answer.text
        assert f"muster secret set HF_TOKEN --workspace {workspace}" in answer.json()["hint"]
    await submit(api, "vision", "[{name: HF_TOKEN, file: hf/token}]")


async def test_a_run_gets_the_newest_value_and_the_use_is_recorded(
    api: httpx.AsyncClient, runs: Runs
) -> None:
    await set_secret(api, "vision", "HF_TOKEN")
    experiment = await submit(api, "vision", "[HF_TOKEN]")
    run = runs.grant(experiment)
    assert await runs.ask(run, "HF_TOKEN") == VALUE
    await set_secret(api, "vision", "HF_TOKEN", "rotated-value-1")
    assert await runs.ask(run, "HF_TOKEN") == "rotated-value-1"
    used = await recorded(api, operation="UseSecret", entity="workspace/vision/secret/HF_TOKEN")
    assert used[0]["actor"] == f"worker {MEMBER}"
    assert used[0]["asked"]["experiment"] == experiment["number"] and used[0]["asked"]["run_id"] == str(run)
    everything = await records(api)
    assert not [one for one in everything if VALUE in str(one) or "rotated-value" in str(one)]


async def test_former_workers_and_strangers_get_none(api: httpx.AsyncClient, runs: Runs) -> None:
    await set_secret(api, "vision", "HF_TOKEN")
    experiment = await submit(api, "vision", "[HF_TOKEN]")
    for holders, worker in (((), MEMBER), ((MEMBER,), STRANGER), ((STRANGER,), MEMBER)):
        run = runs.grant(experiment, holders)
        with pytest.raises(Rejected, match="does not run") as refused:
            await runs.ask(run, "HF_TOKEN", worker)
        assert refused.value.code == "secret_forbidden"
    denied = await recorded(api, operation="UseSecret", outcome="denied")
    assert {one["actor"] for one in denied} == {f"worker {MEMBER}", f"worker {STRANGER}"}


async def test_a_run_gets_only_what_its_config_references(
    api: httpx.AsyncClient, globex: httpx.AsyncClient, runs: Runs
) -> None:
    await set_secret(api, "vision", "HF_TOKEN")
    await set_secret(api, "vision", "OTHER")
    await set_secret(api, "speech", "SPOKEN")
    await set_secret(globex, "vision", "FOREIGN")
    run = runs.grant(await submit(api, "vision", "[HF_TOKEN]"))
    for name in ("OTHER", "SPOKEN", "FOREIGN", "../speech/SPOKEN"):
        with pytest.raises(Rejected) as refused:
            await runs.ask(run, name)
        assert refused.value.code == "secret_forbidden"
    await api.delete("/v1/workspaces/vision/secrets/HF_TOKEN")
    with pytest.raises(Rejected, match="workspace 'vision' has no secret HF_TOKEN") as missing:
        await runs.ask(run, "HF_TOKEN")
    assert missing.value.code == "secret_missing"


async def test_only_the_key_that_the_worker_joined_with_opens_an_answer(
    api: httpx.AsyncClient, runs: Runs
) -> None:
    await set_secret(api, "vision", "HF_TOKEN")
    run = runs.grant(await submit(api, "vision", "[HF_TOKEN]"))
    other = nats_jwt.new_seed(nats_jwt.KeyKind.USER, bytes(reversed(range(32))))
    bus = runs.others.buses["admin"]
    answer = await bus.request(GetRunSecret(run_id=run, name="HF_TOKEN"), MEMBER)
    with pytest.raises(MusterError, match="sealed for another key"):
        open_sealed(other, answer.sealed)


async def test_a_dump_of_the_database_contains_no_value(
    gateway: Gateway, api: httpx.AsyncClient, postgres: TestDatabase, runs: Runs
) -> None:
    value = f"dumped-{uuid4()}"
    await set_secret(api, "vision", "DUMPED", value)
    experiment = await submit(api, "vision", "[DUMPED]")
    assert await runs.ask(runs.grant(experiment), "DUMPED") == value
    await asyncio.sleep(1.5)  # the audit log is sealed
    dump = await _dump(postgres)
    assert "DUMPED" in dump
    for form in (value, value.encode().hex()):
        assert form not in dump
    assert value not in gateway.log.read_text()
    assert "keys={" not in gateway.log.read_text()


async def test_a_stored_value_cannot_be_moved_to_another_row(
    api: httpx.AsyncClient, postgres: TestDatabase, runs: Runs
) -> None:
    await set_secret(api, "finance", "PAYROLL", "the-payroll-key")
    await set_secret(api, "vision", "MINE", "my-own-value")
    experiment = await submit(api, "vision", "[MINE]")
    owner = await asyncpg.connect(postgres.urls["gateway"].system)
    try:
        await owner.execute(
            "UPDATE gateway.user_secret AS mine SET wrapped_key = theirs.wrapped_key, sealed_value = theirs.sealed_value"
            " FROM gateway.user_secret AS theirs WHERE mine.name = 'MINE' AND theirs.name = 'PAYROLL'"
        )
    finally:
        await owner.close()
    with pytest.raises(MusterError, match="another master key, or moved"):
        await runs.ask(runs.grant(experiment), "MINE")


async def test_a_rotated_master_key_takes_over_and_the_old_one_is_not_needed_any_more(
    settings: Callable[[str], dict[str, str]],
    gateway: Gateway,
    api: httpx.AsyncClient,
    postgres: TestDatabase,
    runs: Runs,
    tmp_path: Path,
) -> None:
    await set_secret(api, "vision", "KEPT", "kept-over-a-rotation")
    experiment = await submit(api, "vision", "[KEPT]")
    before = await _column(postgres, "key_id"), await _column(postgres, "sealed_value")
    key_file = tmp_path / "secret-keys"
    key_file.write_text("ab" * 32 + "\n")
    rotated = await start_replica(
        gateway, settings("gateway"), tmp_path, MUSTER_GATEWAY__SECRETS__KEY_FILE=str(key_file)
    )
    try:

        async def is_rewrapped() -> bool:
            return bool(await _column(postgres, "key_id") != before[0])

        await eventually(is_rewrapped)
        assert await _column(postgres, "sealed_value") == before[1], "values are not encrypted again"
        async with rotated.client() as client:
            assert (await client.get("/v1/workspaces/vision/secrets")).status_code == 200
    finally:
        await stop_gateway(rotated)
    # Only the replica without the new key is left, and says so.
    with pytest.raises(MusterError, match="which this gateway does not have"):
        await runs.ask(runs.grant(experiment), "KEPT")
    assert (await set_secret(api, "vision", "KEPT", "set-once-again")).status_code == 200
    assert await runs.ask(runs.grant(experiment), "KEPT") == "set-once-again"


async def _column(postgres: TestDatabase, column: str) -> Any:
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    try:
        query = f"SELECT {column} FROM gateway.user_secret WHERE name = 'KEPT'"
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def _dump(postgres: TestDatabase) -> str:
    """All rows of all tables of the gateway, as text."""
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'gateway'")
        parts = []
        for table in tables:
            name = table["tablename"]
            try:
                rows = await connection.fetch(f'SELECT t::text AS row FROM gateway."{name}" AS t')
            except asyncpg.InsufficientPrivilegeError:
                continue
            parts += [row["row"] for row in rows]
        return "\n".join(parts)
    finally:
        await connection.close()
