"""Odd texts at every place where a text can stand: never a fault of ours, whatever is asked."""

from typing import Any
from urllib.parse import quote

import grpc
import grpc.aio
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.operation import Operation
from services.gateway.transports.grpc.field_types import shape_of
from services.gateway.transports.grpc.mapper import Mapper
from services.gateway.transports.grpc.server import FULL_NAME
from services.gateway.transports.grpc.stubs import muster_pb2
from tests.integration.gateway.conftest import Gateway, Others
from tests.support.drill_share import every

NUL = "a\0b"
ODD = [
    "'; DROP TABLE gateway.experiment; --",
    "%",
    "../../etc/passwd",
    "..%2f..%2f",
    "é\u202e\U0001f4a9",
    "9" * 25,
    "1.99999999999999999999",
    "NaN",
    "A" * 199,
    "A" * 5000,
    "{{7*7}}",
    "-1",
    "\r\nX-Injected: 1",
]
"""NUL, which Postgres takes nowhere, is said to all; of the others each operation hears every third, and its neighbours the rest."""
MAPPER = Mapper(muster_pb2)
REFUSED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.OUT_OF_RANGE,
}
BODIES: dict[str, dict[str, Any]] = {
    "CreateModelVersion": {"checkpoint": "01987cc5-0000-7000-8000-000000000000"},
    "CreateToken": {"name": "x", "role": "viewer"},
    "JoinWorker": {"worker": "w", "user_key": "U" * 56, "pool": "default", "address": "x"},
}


def odd_for(row: Operation[Any, Any]) -> list[str]:
    return [NUL, *every(3, ODD, OPERATIONS.index(row))]


def texts_of(row: Operation[Any, Any]) -> list[str]:
    """The request's fields that hold text, outside the path."""
    shapes = {name: shape_of(info) for name, info in row.request.model_fields.items()}
    return [name for name, shape in shapes.items() if shape.kind == "string" and name not in row.path_fields]


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
async def test_odd_texts_are_refused_by_rest(
    gateway: Gateway, others: Others, row: Operation[Any, Any]
) -> None:
    async with gateway.client() as api:
        for text in odd_for(row):
            calls: list[tuple[str, dict[str, Any]]] = []
            if row.path_fields:
                path = row.path.format_map(dict.fromkeys(row.path_fields, quote(text, safe="")))
                calls.append((path, {"json": BODIES.get(row.name, {})} if row.has_body else {}))
            plain = row.path.format_map(dict.fromkeys(row.path_fields, "1"))
            for name in texts_of(row):
                label = shape_of(row.request.model_fields[name]).label
                value: Any = {"repeated": [text], "map": {text: text}}.get(label, text)
                if row.has_body:
                    calls.append((plain, {"json": BODIES.get(row.name, {}) | {name: value}}))
                else:
                    calls.append((plain, {"params": {name: value}}))
            for path, options in calls:
                async with api.stream(row.verb, path, **options) as answer:
                    if answer.headers["content-type"].startswith("text/event-stream"):
                        continue
                    body = await answer.aread()
                assert answer.status_code < 500 or answer.json()["code"] in ("still_working", "timeout"), (
                    path,
                    options,
                    body,
                )
                assert "x-injected" not in answer.headers


@pytest.mark.parametrize("row", [row for row in OPERATIONS if row.stream is None], ids=lambda row: row.name)
async def test_odd_texts_are_refused_by_grpc(
    gateway: Gateway, others: Others, row: Operation[Any, Any]
) -> None:
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        kind = MAPPER.message_type(row.request)
        call = channel.unary_unary(
            f"/{FULL_NAME}/{row.name}",
            request_serializer=kind.SerializeToString,
            response_deserializer=MAPPER.message_type(row.response).FromString,
        )
        for text in odd_for(row):
            request = kind(
                **BODIES.get(row.name, {}) if row.name != "CreateToken" else {"name": "x", "role": 1}
            )
            for name in (*row.path_fields, *texts_of(row)):
                match shape_of(row.request.model_fields[name]).label:
                    case "repeated":
                        getattr(request, name).append(text)
                    case "map":
                        getattr(request, name)[text] = text
                    case _:
                        setattr(request, name, text)
            try:
                await call(
                    request, metadata=(("authorization", f"Bearer {gateway.admin_token}"),), timeout=10
                )
            except grpc.aio.AioRpcError as error:
                assert error.code() in REFUSED, (row.name, text, error.details())  # noqa: PT017


async def test_numbers_that_are_not_finite_are_refused(gateway: Gateway) -> None:
    async with gateway.client() as api:
        head = {"Content-Type": "application/json"}
        for body in (b'{"name": "x", "metadata": {"a": 1e999}}', b'{"name": "x", "metadata": {"a": NaN}}'):
            answer = await api.post("/v1/models", content=body, headers=head)
            assert answer.status_code == 400, answer.text
