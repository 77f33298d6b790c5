"""gRPC is sent whatever can be sent: messages made from the descriptors, right and wrong, and bytes that are none. It always knows what to say."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import HealthCheck, given, settings as searching, strategies as st

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.auth.permissions import Access
from services.gateway.platform.operation import Operation
from services.gateway.transports.grpc.server import FULL_NAME
from services.gateway.transports.grpc.status import DETAILS_KEY
from services.gateway.transports.grpc.stubs import muster_pb2
from tests.integration.gateway.conftest import Gateway
from tests.support.wire import messages

MESSAGES = 6
"""Of each method; the same ones in each run."""
LISTENED_S = 0.2
"""So long a stream that has begun is listened to."""
OURS_TO_MEND = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED)
METHODS = muster_pb2.DESCRIPTOR.services_by_name["Muster"].methods_by_name
RAW: dict[str, Any] = {"request_serializer": None, "response_deserializer": None}
"""Bytes go and come as they are."""
Row = Operation[Any, Any]


@pytest.fixture(scope="module")
async def channel(quick: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(quick.grpc_address) as opened:
        yield opened


async def answer(
    channel: grpc.aio.Channel, row: Row, sent: list[bytes], token: str
) -> grpc.aio.AioRpcError | None:
    """The error that a method answers raw bytes with, if it does."""
    path, metadata = f"/{FULL_NAME}/{row.name}", (("authorization", f"Bearer {token}"),)
    try:
        match row.stream:
            case "upload":
                await channel.stream_unary(path, **RAW)(iter(sent), metadata=metadata, timeout=30)
            case "server":
                call = channel.unary_stream(path, **RAW)(sent[0], metadata=metadata, timeout=LISTENED_S)
                await call.read()
                call.cancel()
            case _:
                await channel.unary_unary(path, **RAW)(sent[0], metadata=metadata, timeout=30)
    except grpc.aio.AioRpcError as error:
        is_over = row.stream == "server" and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        return None if is_over else error
    return None


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """What the rich status says; empty where there is none."""
    trailing: Any = error.trailing_metadata() or ()
    raw = dict(trailing).get(DETAILS_KEY)
    if raw is None:
        return ""
    status, info = status_pb2.Status.FromString(bytes(raw)), error_details_pb2.ErrorInfo()
    assert status.code == error.code().value[0]
    return next((info.reason for detail in status.details if detail.Unpack(info)), "")


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
@searching(
    max_examples=MESSAGES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
async def test_no_message_is_a_fault_of_the_gateways(
    quick: Gateway, channel: grpc.aio.Channel, row: Row, data: st.DataObject
) -> None:
    made = messages(METHODS[row.name].input_type)
    sent = data.draw(st.lists(made, min_size=1, max_size=3 if row.stream == "upload" else 1))
    error = await answer(channel, row, sent, quick.admin_token)
    if error is not None:
        told = (error.code(), error.details())
        assert error.code() not in OURS_TO_MEND, told
        assert error.code() is not grpc.StatusCode.UNAUTHENTICATED or isinstance(row.permission, Access), told
        assert reason_of(error), told
