"""What takes longer than a request waits: 202 at once, then looked at until its owner has answered, by who ordered it alone."""

import asyncio
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from google.rpc import error_details_pb2, status_pb2

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import OperationRefused, PauseExperiment
from shared.messages.models import EditModel
from shared.messages.queue import EditExperiment, RequestRanked
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import seed
from tests.integration.gateway.sites import user
from tests.integration.gateway.test_experiments import changed, create, next_command
from tests.integration.gateway.test_models import model_changed
from tests.support.waiting import eventually

ASYNC = {"Prefer": "respond-async"}


async def begun(api: httpx.AsyncClient, others: Others) -> dict[str, Any]:
    """An experiment that the searcher has taken up."""
    made = await create(api)
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 1))

    async def is_known() -> bool:
        return bool((await api.get(f"/v1/experiments/{made['id']}")).json()["version"] == 1)

    await eventually(is_known)
    return made


async def settled(api: httpx.AsyncClient, path: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    async def is_over() -> bool:
        found.append((await api.get(path)).json())
        return bool(found[-1]["state"] != "running")

    await eventually(is_over)
    return found[-1]


async def test_what_takes_long_is_looked_at_until_it_is_done(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others)
    answer = await api.post(f"/v1/experiments/{made['id']}/pause", headers=ASYNC)
    assert answer.status_code == 202, answer.text
    path = answer.headers["location"]
    assert path == f"/v1/operations/{answer.json()['id']}" and int(answer.headers["retry-after"]) >= 1
    shown = (await api.get(path)).json()
    assert shown == answer.json()
    assert (shown["operation"], shown["state"], shown["result"]) == ("PauseExperiment", "running", None)
    listed = (await api.get("/v1/operations", params={"limit": 1})).json()
    assert listed["items"][0] == shown
    await others.announce("searcher", DEFAULT_TENANT, changed(made, 2, state="paused"))
    done = await settled(api, path)
    assert done["state"] == "done"
    assert (done["result"]["id"], done["result"]["state"]) == (made["id"], "paused")


async def test_a_late_refusal_is_told_with_its_reason(api: httpx.AsyncClient, others: Others) -> None:
    made = await begun(api, others)
    answer = await api.post(f"/v1/experiments/{made['id']}/archive", headers=ASYNC)
    operation = answer.json()["id"]
    refusal = OperationRefused(operation_id=operation, code="experiment_is_active", message="it runs")
    await others.announce("searcher", DEFAULT_TENANT, refusal)
    refused = await settled(api, f"/v1/operations/{operation}")
    assert (refused["state"], refused["code"], refused["message"]) == (
        "refused",
        "experiment_is_active",
        "it runs",
    )


async def test_a_change_of_priority_that_another_has_overtaken_is_done(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await begun(api, others)
    rank: dict[str, Any] = {"experiment_id": made["id"], "priority": 42, "weight": 1.0}
    await others.announce("scheduler", DEFAULT_TENANT, RequestRanked(version=1, **rank))
    path = f"/v1/experiments/{made['id']}"
    first = (await api.patch(path, json={"priority": 7}, headers=ASYNC)).json()
    second = asyncio.create_task(api.patch(path, json={"weight": 2.0}))
    later: list[Any] = []

    async def is_sent() -> bool:
        later.append(await next_command(others, EditExperiment))
        return bool(later[-1].weight == 2.0)

    await eventually(is_sent)
    told = {"weight": 2.0, "priority": 7, "operation_id": later[-1].operation_id}
    await others.announce("scheduler", DEFAULT_TENANT, RequestRanked(version=3, **rank | told))
    assert (await second).status_code == 200
    done = await settled(api, f"/v1/operations/{first['id']}")
    assert (done["state"], done["result"]["priority"]) == ("done", 7)


async def test_the_same_key_names_the_same_operation(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    seeded = await seed(api, others)
    path, key = f"/v1/models/{seeded.model}", {"Idempotency-Key": f"late-{seeded.model}"}
    answers = [await api.patch(path, json={"notes": "late"}, headers=key | ASYNC) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].headers["location"] == answers[1].headers["location"]
    command = await next_command(others, EditModel)
    assert str(command.operation_id) == answers[0].json()["id"]
    made = model_changed(seeded, 3, notes="late", operation_id=command.operation_id)
    await others.announce("registry", DEFAULT_TENANT, made)
    done = await settled(api, answers[0].headers["location"])
    assert done["result"]["notes"] == "late"
    again = await api.patch(path, json={"notes": "late"}, headers=key)
    assert (again.status_code, again.json()) == (200, done["result"])


async def test_who_did_not_order_it_finds_nothing(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    made = await begun(api, others)
    path = (await api.post(f"/v1/experiments/{made['id']}/pause", headers=ASYNC)).headers["location"]
    async with gateway.client(await user(api, f"nosy-{made['number']}", "admin")) as nosy:
        theirs, absent = await nosy.get(path), await nosy.get("/v1/operations/none")
        assert theirs.status_code == absent.status_code == 404
        assert (await nosy.get("/v1/operations")).json()["items"] == []
    assert (await api.get(path)).status_code == 200


async def test_who_does_not_know_of_operations_is_answered_as_ever(
    api: httpx.AsyncClient, others: Others
) -> None:
    made = await begun(api, others)
    answer = await api.post(f"/v1/experiments/{made['id']}/pause")
    assert (answer.status_code, answer.json()["state"]) == (202, "active")
    assert (await api.get(answer.headers["location"])).json()["state"] == "running"
    seeded = await seed(api, others)
    problem = await api.patch(f"/v1/models/{seeded.model}", json={"notes": "late"})
    assert (problem.status_code, problem.json()["code"]) == (503, "still_working")


async def test_by_grpc_the_metadata_name_the_operation(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    made, seeded = await begun(api, others), await seed(api, others)
    metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        request = muster_pb2.ExperimentRequest(experiment=made["id"])
        asked = stub.PauseExperiment(request, metadata=metadata, timeout=20)
        assert (await asked).state == muster_pb2.EXPERIMENT_STATE_ACTIVE
        named = dict(await asked.trailing_metadata())["operation"]
        command = await next_command(others, PauseExperiment)
        assert named == str(command.operation_id)
        found = await stub.GetOperation(muster_pb2.OperationRequest(operation=named), metadata=metadata)
        assert found.state == muster_pb2.OPERATION_STATE_RUNNING
        edit = muster_pb2.EditModelRequest(model=str(seeded.model), notes="late")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.EditModel(edit, metadata=metadata, timeout=20)
        trailing: Any = caught.value.trailing_metadata() or ()
        status = status_pb2.Status.FromString(bytes(dict(trailing)["grpc-status-details-bin"]))
        info = error_details_pb2.ErrorInfo()
        assert status.details[0].Unpack(info)
        assert (caught.value.code(), info.reason) == (grpc.StatusCode.UNAVAILABLE, "still_working")
        assert info.metadata["operation"] == str((await next_command(others, EditModel)).operation_id)
