"""Renders the proto file from the table of operations. Field numbers are kept in an append-only lock file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel

from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import describe_field
from services.gateway.transports.grpc.field_types import Shape, shape_of

PACKAGE = "muster.v1"
SERVICE = "Muster"
UPLOAD_FIELD = "data"

Numbers = dict[str, dict[str, int]]
"""Message or enum → field or value → number. A removed name keeps its number, as `reserved`."""

_RETIRED = " { option deprecated = true; }"
_HEADER = f"""// Generated from services/gateway/operation_table.py by `make gen`; do not edit.
syntax = "proto3";

package {PACKAGE};

import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
"""


@dataclass(slots=True)
class Schema:
    """All messages and enums of the operations, by name."""

    models: dict[str, type[BaseModel]] = field(default_factory=dict)
    enums: dict[str, type[StrEnum]] = field(default_factory=dict)


def collect_schema(operations: Iterable[Operation]) -> Schema:  # type: ignore[type-arg]
    """Collect every model and enum reachable from the requests and responses."""
    schema = Schema()
    for row in operations:
        _collect(row.request, schema)
        _collect(row.response, schema)
    return schema


def render_proto(operations: tuple[Operation, ...], numbers: Numbers) -> tuple[str, Numbers]:  # type: ignore[type-arg]
    """Return the text of the proto file, and the lock with the numbers of new fields added. `numbers` is not changed."""
    schema = collect_schema(operations)
    uploads = {row.request.__name__ for row in operations if row.stream == "upload"}
    lock: Numbers = {name: dict(fields) for name, fields in numbers.items()}
    parts = [_HEADER, _service(operations)]
    for name, enum in sorted(schema.enums.items()):
        parts.append(_enum(name, enum, lock.setdefault(name, {})))
    for name, model in sorted(schema.models.items()):
        parts.append(_message(name, model, lock.setdefault(name, {}), name in uploads))
    return "\n".join(parts), dict(sorted(lock.items()))


def enum_value(enum: str, value: str) -> str:
    """Return the proto name of an enum value, such as `EXPERIMENT_STATE_ACTIVE`."""
    return f"{re.sub(r'(?<!^)(?=[A-Z])', '_', enum)}_{value}".upper()


def _collect(model: type[BaseModel], schema: Schema) -> None:
    if model.__name__ in schema.models:
        if schema.models[model.__name__] is not model:
            raise TypeError(f"two public models are named {model.__name__}")
        return
    schema.models[model.__name__] = model
    for info in model.model_fields.values():
        shape = shape_of(info)
        if shape.model:
            _collect(shape.model, schema)
        if shape.enum:
            schema.enums[shape.enum.__name__] = shape.enum


def _service(operations: tuple[Operation, ...]) -> str:  # type: ignore[type-arg]
    lines = ["// Every operation; REST serves the same ones.", f"service {SERVICE} {{"]
    for row in operations:
        request = f"stream {row.request.__name__}" if row.stream == "upload" else row.request.__name__
        response = f"stream {row.response.__name__}" if row.stream == "server" else row.response.__name__
        lines += [
            f"  // {row.summary}",
            f"  // REST: {row.verb} {row.path}",
            f"  rpc {row.name}({request}) returns ({response})" + (_RETIRED if row.retired else ";"),
        ]
    return "\n".join([*lines, "}", ""])


def _enum(name: str, enum: type[StrEnum], numbers: dict[str, int]) -> str:
    values = [str(value) for value in enum]
    for value in values:
        numbers.setdefault(value, max(numbers.values(), default=0) + 1)
    lines = [*_comment(enum.__doc__), f"enum {name} {{", *_reserved(numbers, values, enum=name)]
    lines.append(f"  {enum_value(name, 'unspecified')} = 0;")
    lines += [f"  {enum_value(name, value)} = {numbers[value]};" for value in values]
    return "\n".join([*lines, "}", ""])


def _message(name: str, model: type[BaseModel], numbers: dict[str, int], upload: bool) -> str:
    shapes = {field: shape_of(info) for field, info in model.model_fields.items()}
    if upload:
        shapes[UPLOAD_FIELD] = Shape("bytes", "bytes")
    for key in shapes:
        numbers.setdefault(key, max(numbers.values(), default=0) + 1)
    lines = [*_comment(model.__doc__), f"message {name} {{", *_reserved(numbers, list(shapes))]
    for key, shape in shapes.items():
        description = describe_field(model, key) if key in model.model_fields else ""
        lines += [f"  // {line}" for line in description.splitlines()]
        lines.append(f"  {_type(shape)} {key} = {numbers[key]};")
    return "\n".join([*lines, "}", ""])


def _type(shape: Shape) -> str:
    match shape.label:
        case "optional":
            return f"optional {shape.proto}"
        case "repeated":
            return f"repeated {shape.proto}"
        case "map":
            return f"map<string, {shape.proto}>"
        case _:
            return shape.proto


def _reserved(numbers: dict[str, int], present: list[str], enum: str | None = None) -> list[str]:
    removed = {name: number for name, number in numbers.items() if name not in present}
    if not removed:
        return []
    names = (enum_value(enum, name) if enum else name for name in removed)
    return [
        f"  reserved {', '.join(str(number) for number in removed.values())};",
        "  reserved " + ", ".join(f'"{name}"' for name in names) + ";",
    ]


def _comment(docstring: str | None) -> list[str]:
    return [f"// {line.strip()}".rstrip() for line in (docstring or "").strip().splitlines()]
