"""Submissions whose code lacks the entrypoint's file are refused before anything is committed, by REST and gRPC, as are their plans."""

import hashlib
from typing import Any

import asyncpg
import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.bus import RequestContext
from shared.messages.experiments import Accepted, ValidateConfig
from shared.messages.plans import PlanExperiment
from shared.messages.queue import Placeable, ValidatePlacement
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.storing import Store
from tests.integration.gateway.test_bad_input import packed
from tests.integration.gateway.test_plans import asked
from tests.integration.gateway.test_registry import store
from tests.integration.servers import TestDatabase

__all__ = ["asked", "store"]

CONFIG: dict[str, Any] = {
    "entrypoint": "python3 train.py",
    "searcher": {"name": "single", "metric": "loss"},
}
LACKING = packed(**{"fit.py": b"", "data/a": b""})


@pytest.fixture(autouse=True)
def owners(others: Others) -> None:
    others.say(ValidateConfig, Accepted())
    others.say(ValidatePlacement, Placeable())


async def put(api: httpx.AsyncClient, content: bytes) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    answer = await api.put(f"/v1/code/{sha256}", content=content)
    assert answer.status_code == 200, answer.text
    return sha256


async def test_code_without_the_script_is_refused_and_leaves_nothing(
    api: httpx.AsyncClient, store: Store
) -> None:
    before = (await api.get("/v1/experiments")).json()["items"]
    sha256 = await put(api, LACKING)
    for _ in range(2):
        refused = await api.post("/v1/experiments", json={"config": CONFIG, "code_sha256": sha256})
        problem = refused.json()
        assert (refused.status_code, problem["code"], problem["place"]) == (
            422,
            "entrypoint_missing",
            "entrypoint",
        )
        assert (
            "runs train.py, but the code does not contain it; the code has 2 files: data/a, fit.py"
            in refused.text
        )
    assert (await api.get("/v1/experiments")).json()["items"] == before
    other = CONFIG | {"entrypoint": ["python3", "fit.py"]}
    made = await api.post("/v1/experiments", json={"config": other, "code_sha256": sha256})
    assert made.status_code == 201, made.text
    fork = await api.post(
        f"/v1/experiments/{made.json()['number']}/fork",
        json={"overrides": {"entrypoint": "bash -c 'python3 train.py'"}},
    )
    assert fork.status_code == 422 and fork.json()["code"] == "entrypoint_missing"


async def test_without_code_only_what_needs_none_is_taken(gateway: Gateway, api: httpx.AsyncClient) -> None:
    refused = await api.post("/v1/experiments", json={"config": CONFIG})
    assert refused.status_code == 422 and "the experiment has no code" in refused.text
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        config_yaml = "entrypoint: ./run.sh\nsearcher: {name: single, metric: loss}\n"
        with pytest.raises(grpc.aio.AioRpcError, match="no code") as failed:
            await stub.CreateExperiment(
                muster_pb2.CreateExperimentRequest(config_yaml=config_yaml),
                metadata=(("authorization", f"Bearer {gateway.admin_token}"),),
            )
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    taken = await api.post("/v1/experiments", json={"config": CONFIG | {"entrypoint": "sleep 5"}})
    assert taken.status_code == 201


async def test_a_startup_hook_may_bring_the_script(api: httpx.AsyncClient, store: Store) -> None:
    sha256 = await put(api, packed(**{"startup-hook.sh": b"touch train.py\n"}))
    made = await api.post("/v1/experiments", json={"config": CONFIG, "code_sha256": sha256})
    assert made.status_code == 201, made.text


async def test_a_plan_says_the_same_where_it_is_asked_to(
    api: httpx.AsyncClient, store: Store, asked: list[tuple[RequestContext, PlanExperiment]]
) -> None:
    sha256 = await put(api, LACKING)
    unknown = {"code_sha256": "1" * 64, "code_files": ["a/train.py"]}
    for lacking in ({}, {"code_sha256": sha256}, unknown):
        assert (await api.post("/v1/plans", json={"config": CONFIG, **lacking})).status_code == 200
        refused = await api.post("/v1/plans", json={"config": CONFIG, "check_code": True, **lacking})
        assert refused.status_code == 422 and refused.json()["code"] == "entrypoint_missing", lacking
    held = {"code_sha256": "1" * 64, "code_files": ["train.py"], "check_code": True}
    assert (await api.post("/v1/plans", json={"config": CONFIG, **held})).status_code == 200


async def test_code_that_was_stored_without_its_paths_is_asked_for_again(
    api: httpx.AsyncClient, store: Store, postgres: TestDatabase
) -> None:
    content = packed(**{"old.py": b"1"})
    sha256 = await put(api, content)
    connection = await asyncpg.connect(postgres.urls["gateway"].system)
    await connection.execute("UPDATE gateway.code SET files = NULL WHERE sha256 = $1", sha256)
    await connection.close()
    assert (await api.get(f"/v1/code/{sha256}")).status_code == 404
    await put(api, content)
    assert (await api.get(f"/v1/code/{sha256}")).status_code == 200
    refused = await api.post("/v1/experiments", json={"config": CONFIG, "code_sha256": sha256})
    assert refused.json()["code"] == "entrypoint_missing"
