"""Every operation with each place of it where an id can stand, generated from the table, and how it is asked by REST and gRPC."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import grpc
import grpc.aio
import httpx
from pydantic import JsonValue

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.auth.permissions import Access
from services.gateway.platform.operation import Operation
from services.gateway.transports.grpc.field_types import shape_of
from services.gateway.transports.grpc.mapper import Mapper
from services.gateway.transports.grpc.server import FULL_NAME
from services.gateway.transports.grpc.stubs import muster_pb2
from tests.support.waiting import TIMEOUT_S

Row = Operation[Any, Any]
Values = dict[str, JsonValue]

GUARDED: list[Row] = [row for row in OPERATIONS if not isinstance(row.permission, Access)]
MAPPER = Mapper(muster_pb2)

WHOSE = {
    "experiment", "trial", "checkpoint", "model", "workspace", "project", "user", "group", "role", "binding",
    "token", "tenant", "id", "reservation", "export", "template", "operation", "webhook",
    "session", "identity", "provider", "experiments", "view",
}  # fmt: skip
"""Fields that name a thing of somebody's."""
WITHIN = {
    "version",
    "alias",
    "base",
    "other",
    "sha256",
    "code_sha256",
    "source",
    "key",
    "delivery",
    "path",
    "media",
    "secret",
}
"""These count within what another field names, or name content: knowing it is having it, within a tenant."""
OF_THE_SITE = {"pool", "worker", "instance"}
"""Machines and pools belong to no tenant."""
WORDS = {
    "actor", "add", "add_tags", "address", "after", "code_files", "column", "comment", "config_yaml", "contains", "cursor", "description", "display_name",
    "driver", "entity", "events", "filter", "kind", "label", "labels", "name", "name_contains", "notes", "operation", "pattern", "permissions",
    "reason", "reference", "remove", "remove_tags", "scope", "selection", "sort", "tag", "tags", "topology", "url",
    "kinds", "since", "until", "zones",
    "old_password", "new_password", "password", "subject", "secret_value",
}  # fmt: skip
"""Texts that name nothing."""

REQUIRED: dict[str, Values] = {
    "ActOnExperiments": {"action": "pause", "experiments": ["1"]},
    "ChangePassword": {"old_password": "x", "new_password": "x"},
    "CompareModelVersions": {"base": "1", "other": "1"},
    "CreateExperiment": {"config_yaml": "x"},
    "CreateGroup": {"name": "x"},
    "CreateMachinePool": {"name": "x", "kinds": ["x"], "maximum": 1},
    "CreateModel": {"name": "x"},
    "CreateModelVersion": {"checkpoint": "01987cc5-0000-7000-8000-000000000000"},
    "CreateReservation": {
        "pool": "x", "slots": 1, "begins_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z",
    },
    "CreateRole": {"name": "x", "permissions": ["experiment.read"]},
    "CreateTemplate": {"name": "x", "config": {"max_restarts": 1}},
    "CreateTenant": {"name": "x"},
    "CreateToken": {"name": "x", "role": "viewer"},
    "CreateUser": {"name": "x"},
    "CreateUserToken": {"name": "x"},
    "CreateWebhook": {"name": "x", "url": "https://example.invalid/x"},
    "DeleteModel": {"reason": "x"},
    "DeleteModelVersion": {"reason": "x"},
    "DisableSlot": {"slot": 0},
    "DrainWorkers": {"labels": {"x": "y"}},
    "EnableSlot": {"slot": 0},
    "GetExperimentCodeFile": {"path": "train.py"},
    "GetLineage": {"kind": "experiment", "id": "1"},
    "GetUsage": {"by": "tenant"},
    "GrantRole": {"role": "viewer", "user": "x"},
    "LabelExperiments": {"experiments": ["1"], "add": ["x"]},
    "ListExperimentGroups": {"by": "owner"},
    "LinkIdentity": {"provider": "x", "subject": "x"},
    "PreviewExperiments": {"filter": "number = 0"},
    "RecordModelUse": {"kind": "inference", "reference": "x"},
    "SaveView": {"name": "x", "address": "/experiments"},
    "SetLimit": {"pool": "x"},
    "SetModelAlias": {"version": "1"},
    "SetModelStage": {"stage": "staging"},
    "SetWorkspaceBudget": {"workspace": "x"},
    "SetWorkspaceLimit": {"pool": "x", "workspace": "x"},
    "SetWorkspaceQuota": {"workspace": "x"},
    "SetSecret": {"secret_value": "12345678"},
    "SetPassword": {"password": "correct horse battery"},
    "UndrainWorkers": {"labels": {"x": "y"}},
    "UpdateMachinePool": {"kinds": ["x"], "maximum": 1},
}  # fmt: skip
"""What a request must hold beside what its path names, to be read at all."""


@dataclass(frozen=True)
class Place:
    """A field of an operation's request in which somebody's thing can be named."""

    row: Row
    field: str

    def __str__(self) -> str:
        return f"{self.row.name}.{self.field}"


def texts_of(row: Row) -> Iterator[str]:
    """The fields that hold a text or several, and may so hold an id."""
    for name, info in row.request.model_fields.items():
        shape = shape_of(info)
        if shape.kind == "string" and "datetime" not in str(info.annotation):
            yield name


PLACES = [Place(row, field) for row in GUARDED for field in texts_of(row) if field in WHOSE]


def filled(row: Row, values: Values) -> tuple[str, Values]:
    """The path and the rest of a request; places of the path that are not given hold what is nowhere."""
    path = row.path.format_map(dict.fromkeys(row.path_fields, "none") | _in_path(row, values))
    rest = REQUIRED.get(row.name, {}) | {
        field: _as_asked(row, field, value) for field, value in values.items() if field not in row.path_fields
    }
    return path, rest


async def ask_rest(client: httpx.AsyncClient, row: Row, values: Values, token: str) -> httpx.Response:
    """The answer; of a stream its beginning only."""
    path, rest = filled(row, values)
    given: dict[str, Any] = {"json": rest} if row.has_body else {"params": rest}
    if row.stream == "upload":
        given = {"content": b"x"}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with client.stream(row.verb, path, headers=headers, **given) as answer:
        if not answer.headers["content-type"].startswith("text/event-stream"):
            await answer.aread()
    return answer


async def ask_rpc(channel: grpc.aio.Channel, row: Row, values: Values, token: str) -> grpc.StatusCode:
    """The status of the call; a stream that begins is OK."""
    given = REQUIRED.get(row.name, {}) | dict.fromkeys(row.path_fields, "none") | values
    request = _message(row, {field: _as_asked(row, field, value) for field, value in given.items()})
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    path = f"/{FULL_NAME}/{row.name}"
    serializers: dict[str, Any] = {
        "request_serializer": type(request).SerializeToString,
        "response_deserializer": MAPPER.message_type(row.response).FromString,
    }
    options: dict[str, Any] = {"metadata": metadata, "timeout": TIMEOUT_S}
    try:
        if row.stream == "upload":
            await channel.stream_unary(path, **serializers)(iter([request]), **options)
        elif row.stream == "server":
            call = channel.unary_stream(path, **serializers)(request, **options)
            await call.initial_metadata()
            if call.done():
                return await call.code()
            call.cancel()
        else:
            await channel.unary_unary(path, **serializers)(request, **options)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def alike(answer: httpx.Response, asked: list[str]) -> tuple[int, str]:
    """An answer without what differs from call to call, and without the names that were asked for, which it says back."""
    text = answer.text if "event-stream" not in answer.headers["content-type"] else ""
    for name in sorted(asked, key=len, reverse=True):
        text = text.replace(f'"{name}"', '"…"').replace(f" {name} was not found", " … was not found")
        text = text.replace(f"'{name}'", "'…'")
    return answer.status_code, re.sub(r'"(instance|trace_id|next_cursor)":"[^"]*"', r'"\1":""', text)


def _in_path(row: Row, values: Values) -> dict[str, str]:
    return {field: str(value) for field, value in values.items() if field in row.path_fields}


def _as_asked(row: Row, field: str, value: JsonValue) -> JsonValue:
    annotation = row.request.model_fields[field].annotation
    is_list = getattr(annotation, "__origin__", None) is list or any(
        getattr(one, "__origin__", None) is list for one in get_args(annotation)
    )
    return [value] if is_list and not isinstance(value, list) else value


def _message(row: Row, values: Values) -> Any:
    request = MAPPER.message_type(row.request)()
    for field, value in values.items():
        found = request.DESCRIPTOR.fields_by_name[field]
        if found.enum_type:
            numbers = {one.name.rpartition("_")[2].lower(): one.number for one in found.enum_type.values}
            value = [numbers[str(one)] for one in value] if isinstance(value, list) else numbers[str(value)]
        if isinstance(value, list):
            getattr(request, field).extend(value)
        elif isinstance(value, dict):
            getattr(request, field).update(value)
        elif found.message_type:
            getattr(request, field).FromJsonString(str(value))
        else:
            setattr(request, field, value)
    return request
