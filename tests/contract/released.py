"""The contracts as they were released, kept in `baseline/` by hand: within version 1 they are only added to.

`make gen` never touches them. Once something new has been deployed somewhere, take it into the baseline:

    .venv/bin/python -m tests.contract.released

It adds what is new, and refuses to take anything away. What was never deployed may be taken back: edit the JSON.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from pydantic import BaseModel

from services.gateway.operation_table import OPERATIONS
from services.gateway.transports.grpc.stubs import muster_pb2
from services.gateway.transports.rest.openapi import render_openapi
from shared.messages import asyncapi

BASELINE = Path(__file__).parent / "baseline"
REQUIRED = "!"
"""Ends the type of a field without which a message is not understood."""

ON_REQUEST = {"EventKind", "MachineEventKind", "UsageKey"}
"""Enums of answers whose newer words are told to who asks for them by name alone (decision 0185; what usage was asked to be added up by)."""
ANSWERS = ("200", "201")
"""202 has another body for who prefers it alone; to others it is the thing as it is by then."""

Schema = dict[str, Any]
Shape = dict[str, str] | str


class Contract(BaseModel):
    """What others rely on: where a thing is found, and what it looks like.

    Args:
        addresses: By name: a subject and its reply, a verb and its path, a call's two messages.
        shapes: By name: the type of each field, or one type.
        taken: Names of the shapes that others send to us; of these no new field may be required. Not stored: today's count.
        is_numbered: What travels are the numbers of fields, and no name: a message with the same ones, and more, may take another's place. Not stored.
    """

    addresses: dict[str, str]
    shapes: dict[str, Shape]
    taken: frozenset[str] = frozenset()
    is_numbered: bool = False


def messages() -> Contract:
    """The private messages. Replicas of two versions run beside each other, so each is sent by the other."""
    document = asyncapi.document()
    channels, told = document["channels"], document["components"]["messages"]
    schemas = document["components"]["schemas"]
    return Contract(
        addresses={
            name: " → ".join([channel["address"], *_name(told[name].get("x-reply"))])
            for name, channel in channels.items()
        },
        shapes={name: _shape(schema) for name, schema in schemas.items()},
        taken=frozenset(schemas),
    )


def rest() -> Contract:
    """The REST interface; the query and headers of an operation are the shape `<operation>?`."""
    document: Schema = json.loads(render_openapi(OPERATIONS))
    schemas = document["components"]["schemas"]
    shapes = {name: _shape(schema) for name, schema in schemas.items()}
    addresses, taken = {}, set()
    for path, verb, operation in _operations(document):
        name = operation["operationId"]
        if verb == "head":
            continue
        body = _content(operation.get("requestBody", {}))
        answers = [_content(answer) for code, answer in operation["responses"].items() if code in ANSWERS]
        addresses[name] = f"{verb.upper()} {path}: {_type(body)} → {', '.join(map(_type, answers))}"
        shapes[f"{name}?"] = {
            one["name"]: _type(one["schema"]) + (REQUIRED if one["required"] else "")
            for one in operation.get("parameters", [])
        }
        taken |= {f"{name}?", *_reached(body, schemas)}
    return Contract(addresses=addresses, shapes=shapes, taken=frozenset(taken))


def grpc() -> Contract:
    """The gRPC interface as its stubs have it: numbers and types of fields, values of enums."""
    file = muster_pb2.DESCRIPTOR
    (service,) = file.services_by_name.values()
    return Contract(
        addresses={
            call.name: f"{_stream(call.client_streaming)}{call.input_type.name} →"
            f" {_stream(call.server_streaming)}{call.output_type.name}"
            for call in service.methods
        },
        shapes={
            **{
                name: {field.name: _wire_type(field) for field in message.fields}
                for name, message in file.message_types_by_name.items()
            },
            **{
                name: {value.name: str(value.number) for value in enum.values}
                for name, enum in file.enum_types_by_name.items()
            },
        },
        is_numbered=True,
    )


CONTRACTS: dict[str, Callable[[], Contract]] = {
    "messages-v1": messages,
    "rest-v1": rest,
    "grpc-v1": grpc,
}


def load(name: str) -> Contract:
    return Contract.model_validate_json((BASELINE / f"{name}.json").read_text())


def broken(released: Contract, now: Contract) -> list[str]:
    """What somebody who was written for `released` would stumble over, in words."""
    found = [
        f"{name} was found at {address!r}, now {now.addresses.get(name, 'nowhere')!r}"
        for name, address in released.addresses.items()
        if not _leads_there(address, now.addresses.get(name), released, now)
    ]
    given_up = _in_place_of(released, now) - now.shapes.keys()
    for name, shape in released.shapes.items():
        if name not in given_up:
            found += _broken_shape(name, shape, now.shapes.get(name), name in now.taken)
    return found


def _in_place_of(released: Contract, now: Contract) -> set[str]:
    """The messages that calls took, and in the place of which they take others with the same numbers."""
    return {
        address.split(" → ")[0]
        for name, address in released.addresses.items()
        if now.is_numbered
        and address != (today := now.addresses.get(name))
        and _leads_there(address, today, released, now)
    }


def _leads_there(before: str, today: str | None, released: Contract, now: Contract) -> bool:
    """Whether who asks at the one address is understood at the other."""
    if today is None or not now.is_numbered:
        return before == today
    asked, answered = before.split(" → ")
    asked_now, _, answered_now = today.partition(" → ")
    return _travels_as(asked, asked_now, released, now) and _travels_as(answered, answered_now, released, now)


def _travels_as(before: str, today: str, released: Contract, now: Contract) -> bool:
    was, by_now = released.shapes.get(before), now.shapes.get(today)
    if before == today or not isinstance(was, dict) or not isinstance(by_now, dict):
        return before == today
    return was.items() <= by_now.items()


def extended(released: Contract, now: Contract) -> Contract:
    """The released contract with what is new."""
    shapes = dict(released.shapes)
    for name, shape in now.shapes.items():
        before = shapes.get(name)
        shapes[name] = shape | before if isinstance(shape, dict) and isinstance(before, dict) else shape
    return Contract(addresses=now.addresses | released.addresses, shapes=shapes)


def _broken_shape(name: str, released: Shape, now: Shape | None, is_taken: bool) -> Iterator[str]:
    if not isinstance(released, dict) or not isinstance(now, dict):
        is_wider = name in ON_REQUEST and isinstance(now, str) and _has_words_of(str(released), now)
        if released != now and not is_wider:
            yield f"{name} was {released!r}, now {now!r}"
        return
    for field, before in released.items():
        kind = now.get(field)
        if kind is None:
            yield f"{name}.{field} is gone, and is still read"
        elif not _takes(before.removesuffix(REQUIRED), kind.removesuffix(REQUIRED), is_taken):
            yield f"{name}.{field} was {before!r}, now {kind!r}"
        elif is_taken and kind.endswith(REQUIRED) and not before.endswith(REQUIRED):
            yield f"{name}.{field} has become required, and is not always sent"
    if is_taken:
        yield from (
            f"{name}.{field} is new and required, and is not sent by the version before"
            for field in now.keys() - released.keys()
            if now[field].endswith(REQUIRED)
        )


def _takes(before: str, today: str, is_taken: bool) -> bool:
    """Whether what was sent in a field is good there today; of words that are sent to us there may be more."""
    return before == today or (is_taken and '"' in before and _has_words_of(before, today))


def _has_words_of(before: str, today: str) -> bool:
    """Whether one enum, or list of one, has all words of another."""
    words, now = (set(one.strip("[]").split(" | ")) for one in (before, today))
    return words <= now and before.startswith("[") == today.startswith("[")


def _shape(schema: Schema) -> Shape:
    if "properties" not in schema:
        return _type(schema)
    required = schema.get("required", [])
    return {
        field: _type(part) + (REQUIRED if field in required else "")
        for field, part in schema["properties"].items()
    }


def _type(schema: Schema) -> str:
    """A JSON schema in a few letters; limits of values are left out."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(sorted(_type(one) for one in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " | ".join(sorted(json.dumps(one) for one in schema.get("enum", [schema.get("const")])))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"[{_type(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"{{{_type(values)}}}" if isinstance(values, dict) else "{any}"
    return f"{kind}:{schema['format']}" if "format" in schema else str(kind)


def _operations(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, item in document["paths"].items():
        for verb, operation in item.items():
            yield path, verb, operation


def _content(part: Schema) -> Schema:
    """The schema of a body, whatever its media type; empty when there is none."""
    return next((one.get("schema", {}) for one in part.get("content", {}).values()), {})


def _reached(schema: Schema, schemas: dict[str, Schema]) -> set[str]:
    """Names of all schemas that this one is made of."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        for name in _references(waiting.pop()) - found:
            found.add(name)
            waiting.append(schemas[name])
    return found


def _references(part: object) -> set[str]:
    if isinstance(part, list):
        return {name for one in part for name in _references(one)}
    if not isinstance(part, dict):
        return set()
    here = {str(part["$ref"]).rpartition("/")[2]} if isinstance(part.get("$ref"), str) else set()
    return here | {name for one in part.values() for name in _references(one)}


def _name(reference: Schema | None) -> list[str]:
    return [_type(reference)] if reference else []


def _stream(is_one: bool) -> str:
    return "stream " if is_one else ""


def _wire_type(field: FieldDescriptor) -> str:
    named = field.message_type or field.enum_type
    kind = named.full_name if named else str(field.type)
    return f"{field.number} {'repeated ' if field.is_repeated else ''}{kind}"


def main() -> int:
    """Takes what is new into the baselines; writes nothing when something was taken away."""
    BASELINE.mkdir(exist_ok=True)
    for name, contract in CONTRACTS.items():
        path, now = BASELINE / f"{name}.json", contract()
        released = load(name) if path.exists() else now
        if faults := broken(released, now):
            print(f"{path.name} was left as it is:", *faults, sep="\n  ", file=sys.stderr)
            return 1
        kept = extended(released, now).model_dump(include={"addresses", "shapes"})
        path.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
