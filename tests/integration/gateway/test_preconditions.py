"""What one has seen already is not sent again, and what somebody has changed since is not changed: ETag, `If-None-Match`, `If-Match`."""

import asyncio
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.ids import DEFAULT_TENANT
from shared.messages.checkpoints import ListCheckpoints
from shared.messages.experiments import OperationRefused
from shared.messages.models import EditModel
from shared.messages.pools import GetCluster
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.matrix import Row, Values, filled
from tests.integration.gateway.seeding import checkpoints_of, seed
from tests.integration.gateway.sites import made
from tests.integration.gateway.test_experiments import next_command
from tests.integration.gateway.test_machines import view
from tests.support.waiting import eventually

CONDITIONAL = [row for row in OPERATIONS if row.conditional]
CHANGES: dict[str, Any] = {
    "EditExperiment": {"priority": 7},
    "EditSearch": {"max_concurrent_trials": 2},
    "EditCheckpoint": {"metadata": {"a": 1}},
    "EditModel": {"notes": "x"},
    "EditModelVersion": {"notes": "x"},
    "EditPool": {"ageing_s": 60.0},
    "EditUser": {"display_name": "x"},
    "EditTemplate": {"description": "x"},
    "EditRole": {"description": "x"},
    "EditWebhook": {"enabled": False},
}


@pytest.fixture
async def named(gateway: Gateway, others: Others) -> dict[str, Any]:
    """One of each, by the fields that name it."""
    async with gateway.client() as api:
        seeded = await seed(api, others)
        number = seeded.experiment["number"]
        others.answers[ListCheckpoints] = checkpoints_of({DEFAULT_TENANT: (seeded,)})
        others.say(GetCluster, view("w1"))
        await made(api, "/v1/users", {"name": f"ann-{number}"})
        await made(api, "/v1/groups", {"name": f"team-{number}"})
        await made(api, "/v1/templates", {"name": f"base-{number}", "config": {"max_restarts": 1}})
        to = {"name": f"hook-{number}", "url": "https://hooks.example.com/muster"}
        hook = await made(api, "/v1/webhooks", to)
        await made(api, "/v1/roles", {"name": f"role-{number}", "permissions": ["experiment.read"]})
    return {
        "experiment": seeded.experiment["id"],
        "checkpoint": str(seeded.checkpoint),
        "model": str(seeded.model),
        "version": "1",
        "alias": "champion",
        "pool": "default",
        "user": f"ann-{number}",
        "group": f"team-{number}",
        "role": f"role-{number}",
        "template": f"base-{number}",
        "webhook": hook["id"],
    }


def test_what_changes_a_thing_with_a_state_heeds_what_was_seen() -> None:
    """A new PATCH is conditional, or is named here with its reason."""
    assert {row.name for row in OPERATIONS if row.verb == "PATCH" and not row.conditional} == set()


async def test_what_one_has_is_not_sent_again(api: httpx.AsyncClient, named: dict[str, Any]) -> None:
    path = f"/v1/users/{named['user']}"
    first = await api.get(path)
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = await api.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert (await api.head(path, headers={"If-None-Match": tag})).status_code == 304
    assert (await api.patch(path, json={"display_name": "Ann"})).status_code == 200
    changed = await api.get(path, headers={"If-None-Match": tag})
    assert changed.status_code == 200 and changed.json()["display_name"] == "Ann"
    assert changed.headers["etag"] != tag


@pytest.mark.parametrize("row", CONDITIONAL, ids=lambda row: row.name)
async def test_what_was_changed_since_is_left_alone(
    api: httpx.AsyncClient, named: dict[str, Any], row: Row
) -> None:
    path, body = filled(row, {field: named[field] for field in row.path_fields} | CHANGES.get(row.name, {}))
    given: dict[str, Any] = {"json": body} if row.has_body else {"params": body}
    stale = await api.request(row.verb, path, headers={"If-Match": '"0123"'}, **given)
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed"), stale.text
    assert stale.json()["place"] == "If-Match" and 'ETag is "' in stale.json()["detail"]
    assert (await api.request(row.verb, path, headers={"If-Match": "0123"}, **given)).status_code == 400
    now = stale.json()["detail"].partition("ETag is ")[2].split(" ")[0]
    right = await api.request(row.verb, path, headers={"If-Match": f'"0123", {now}'}, **given)
    assert right.status_code != 412, right.text
    absent: Values = dict.fromkeys(row.path_fields, "none")
    nowhere, _ = filled(row, absent)
    missing = await api.request(row.verb, nowhere, headers={"If-Match": '"0123"'}, **given)
    assert missing.status_code == 404


async def test_of_two_who_saw_the_same_one_changes_it(api: httpx.AsyncClient, named: dict[str, Any]) -> None:
    path = f"/v1/roles/{named['role']}"
    tag = (await api.get(path)).headers["etag"]
    answers = await asyncio.gather(
        *(api.patch(path, json={"description": f"by {n}"}, headers={"If-Match": tag}) for n in range(5))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412, 412]
    (won,) = (answer for answer in answers if answer.status_code == 200)
    shown = await api.get(path)
    assert shown.json() == won.json() and shown.headers["etag"] == won.headers["etag"]


async def test_the_owner_has_the_last_word(
    api: httpx.AsyncClient, others: Others, named: dict[str, Any]
) -> None:
    path = f"/v1/models/{named['model']}"
    tag = (await api.get(path)).headers["etag"]
    asking = asyncio.create_task(api.patch(path, json={"notes": "mine"}, headers={"If-Match": tag}))
    sent: list[EditModel] = []

    async def is_sent() -> bool:
        command = await next_command(others, EditModel)
        assert isinstance(command, EditModel)
        sent.append(command)
        return str(command.model_id) == named["model"] and command.notes == "mine"

    await eventually(is_sent)
    assert sent[-1].expected_version == 2
    refusal = OperationRefused(
        operation_id=sent[-1].operation_id, code="version_conflict", message="the model has changed"
    )
    await others.announce("registry", DEFAULT_TENANT, refusal)
    answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")


async def test_what_cannot_depend_on_it_says_so(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/users", json={"name": "never"}, headers={"If-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (400, "precondition_unsupported")
    assert (await api.get("/v1/users/never")).status_code == 404


async def test_the_same_by_grpc(api: httpx.AsyncClient, gateway: Gateway, named: dict[str, Any]) -> None:
    tag = (await api.get(f"/v1/users/{named['user']}")).headers["etag"]
    metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        asked = stub.GetUser(muster_pb2.UserRequest(user=named["user"]), metadata=metadata)
        await asked
        assert dict(await asked.trailing_metadata())["etag"] == tag
        edit = muster_pb2.EditUserRequest(user=named["user"], display_name="Ann")
        await stub.EditUser(edit, metadata=(*metadata, ("if-match", tag)))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.EditUser(edit, metadata=(*metadata, ("if-match", tag)))
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
