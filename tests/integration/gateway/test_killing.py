"""Killing one trial over REST and gRPC: the searcher is told, and what it answers is shown."""

import asyncio
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import httpx
import pytest

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.ids import DEFAULT_TENANT
from shared.messages.experiments import KillTrial, OperationRefused
from tests.integration.gateway.audited import recorded
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.seeding import seed, trial_changed
from tests.integration.gateway.sites import user
from tests.integration.gateway.test_experiments import next_command
from tests.integration.gateway.test_long_operations import ASYNC, settled
from tests.support.waiting import eventually


async def begun(api: httpx.AsyncClient, others: Others) -> dict[str, Any]:
    """An experiment with a running trial 1."""
    return (await seed(api, others)).experiment


async def answer_kill(others: Others, experiment: dict[str, Any], version: int, **more: Any) -> KillTrial:
    """Answer the next kill as the searcher would."""
    found: list[Any] = []

    async def sent() -> bool:
        found.append(await next_command(others, KillTrial))
        return bool(found[-1].experiment_id == UUID(experiment["id"]))

    await eventually(sent)
    await others.announce("searcher", DEFAULT_TENANT, trial_changed(experiment, 1, version, **more))
    command: KillTrial = found[-1]
    return command


@pytest.mark.parametrize("is_by_grpc", [False, True], ids=["rest", "grpc"])
async def test_a_killed_trial_is_shown_as_the_searcher_ends_it(
    api: httpx.AsyncClient, gateway: Gateway, others: Others, is_by_grpc: bool
) -> None:
    experiment = await begun(api, others)
    name = f"{experiment['number']}.1"

    async def by_rest() -> str:
        answer = await api.post(f"/v1/trials/{name}/kill")
        assert answer.status_code == 200, answer.text
        return str(answer.json()["state"])

    async def by_grpc() -> str:
        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
            stub = muster_pb2_grpc.MusterStub(channel)
            found = await stub.KillTrial(muster_pb2.TrialRequest(trial=name), metadata=metadata, timeout=20)
        return muster_pb2.TrialState.Name(found.state).removeprefix("TRIAL_STATE_").lower()

    asking = asyncio.create_task(by_grpc() if is_by_grpc else by_rest())
    command = await answer_kill(others, experiment, 2, state="stopping")
    assert command.trial_number == 1
    assert await asking == "stopping"


async def test_killing_again_is_no_fault_and_a_trial_that_ended_by_itself_is_a_conflict(
    api: httpx.AsyncClient, others: Others
) -> None:
    for state, status in (("cancelled", 200), ("completed", 409)):
        experiment = await begun(api, others)
        over = trial_changed(experiment, 1, 2, state=state, final=True)
        await others.announce("searcher", DEFAULT_TENANT, over)
        path = f"/v1/trials/{experiment['number']}.1"

        async def is_over(path: str = path) -> bool:
            return bool((await api.get(path)).json()["final"])

        await eventually(is_over)
        answer = await api.post(f"{path}/kill")
        assert answer.status_code == status, answer.text
    problem = answer.json()
    assert problem["code"] == "trial_ended"
    assert "has already ended (completed), so it cannot be killed" in problem["detail"]


async def test_a_kill_that_takes_long_is_an_operation_and_a_late_refusal_tells_why(
    api: httpx.AsyncClient, others: Others
) -> None:
    experiment = await begun(api, others)
    answer = await api.post(f"/v1/trials/{experiment['number']}.1/kill", headers=ASYNC)
    assert answer.status_code == 202, answer.text
    await answer_kill(others, experiment, 2, state="cancelled", final=True)
    done = await settled(api, answer.headers["location"])
    assert (done["state"], done["result"]["state"]) == ("done", "cancelled")

    experiment = await begun(api, others)
    asking = asyncio.create_task(api.post(f"/v1/trials/{experiment['number']}.1/kill"))
    command = await next_command(others, KillTrial)
    while command.operation_id == UUID(answer.json()["id"]):
        command = await next_command(others, KillTrial, command)
    refusal = OperationRefused(
        operation_id=command.operation_id, code="trial_is_completed", message="trial 1 is completed"
    )
    await others.announce("searcher", DEFAULT_TENANT, refusal)
    refused = await asking
    assert (refused.status_code, refused.json()["code"]) == (409, "trial_is_completed")


async def test_a_kill_wants_permission_and_stands_in_the_audit_log(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    experiment = await begun(api, others)
    name = f"{experiment['number']}.1"
    async with gateway.client(await user(api, f"looker-{experiment['number']}", "viewer")) as looker:
        assert (await looker.get(f"/v1/trials/{name}")).status_code == 200
        assert (await looker.post(f"/v1/trials/{name}/kill")).status_code == 404
    asking = asyncio.create_task(api.post(f"/v1/trials/{name}/kill"))
    await answer_kill(others, experiment, 2, state="cancelled", final=True)
    assert (await asking).json()["state"] == "cancelled"
    (record,) = await recorded(api, entity=f"trial/{name}", operation="KillTrial", outcome="allowed")
    assert record["before"]["state"] == "running"
