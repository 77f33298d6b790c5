"""What fails after it was stored, or asked for: the answer says that it may still take effect, and where to look."""

from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from google.rpc import error_details_pb2, status_pb2

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from shared.bus import RequestContext
from shared.errors import Transient
from shared.messages.budgets import SetBudget
from shared.messages.pools import GetCluster
from shared.messages.reservations import GetReservations, ReservationList
from tests.integration.gateway.conftest import Gateway, Others
from tests.integration.gateway.test_experiments import create
from tests.integration.gateway.test_pools import ruled
from tests.integration.gateway.test_reservations import BODY

LATE = Transient("qry.v1.scheduler.budget was not answered within 5 s", code="timeout")
AWAY = Transient("nobody answers; its owner is not running", code="no_responder")


def once(reply: Any, then: Exception) -> Any:
    """Answers the first question, and fails all later ones."""
    left = [reply]

    def answer(_: RequestContext, __: Any) -> Any:
        if left:
            return left.pop()
        raise then

    return answer


async def test_a_command_that_was_stored_says_so_though_its_owner_went_away(
    api: httpx.AsyncClient, others: Others
) -> None:
    others.say(GetCluster, ruled())
    others.say(GetReservations, ReservationList(items=()))
    refused = await api.post("/v1/reservations", json=BODY | {"slots": 3})
    told = refused.json()
    assert (refused.status_code, told["may_take_effect"]) == (503, True)
    assert "may still take effect: check with `muster reservation list` before you retry" in told["detail"]


async def test_a_command_is_deferred_though_its_outcome_cannot_be_looked_at(
    api: httpx.AsyncClient, others: Others
) -> None:
    """The scheduler answers while it is asked what to change, and no more once the command is stored."""
    others.say(GetCluster, once(ruled(), AWAY))
    refused = await api.patch("/v1/pools/default", json={"preemption": True})
    told = refused.json()
    assert (refused.status_code, told["code"], told["may_take_effect"]) == (503, "still_working", True)
    assert "is stored and will be carried out: operation " in told["detail"]


async def test_a_question_that_changes_something_may_have_done_so_when_it_is_late(
    api: httpx.AsyncClient, gateway: Gateway, others: Others
) -> None:
    others.say(SetBudget, LATE)
    await create(api)
    body = {"workspace": "Uncategorized", "per_month": 5.0}
    told = (await api.put("/v1/budgets/workspace", json=body)).json()
    assert told["code"] == "timeout" and told["may_take_effect"]
    assert "`muster budget list`" in told["detail"]
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        stub = muster_pb2_grpc.MusterStub(channel)
        metadata = (("authorization", f"Bearer {gateway.admin_token}"),)
        request = muster_pb2.SetWorkspaceBudgetRequest(workspace="Uncategorized", per_month=5.0)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.SetWorkspaceBudget(request, metadata=metadata)
    trailing: Any = raised.value.trailing_metadata() or ()
    status = status_pb2.Status.FromString(dict(trailing)["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert any(detail.Unpack(info) for detail in status.details)
    assert info.metadata["may_take_effect"] == "true"


async def test_a_question_that_reached_nobody_changed_nothing(api: httpx.AsyncClient, others: Others) -> None:
    others.say(SetBudget, AWAY)
    body = {"workspace": "Uncategorized", "per_month": 5.0}
    told = (await api.put("/v1/budgets/workspace", json=body)).json()
    assert told["code"] == "no_responder" and "may_take_effect" not in told
    assert "take effect" not in told["detail"]


async def test_a_read_that_is_late_changes_nothing(api: httpx.AsyncClient, others: Others) -> None:
    others.say(GetCluster, LATE)
    told = (await api.get("/v1/pools/default")).json()
    assert told["code"] == "timeout" and "may_take_effect" not in told
