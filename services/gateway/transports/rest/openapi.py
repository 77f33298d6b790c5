"""The OpenAPI 3.1 document, from the table of operations."""

from typing import Any, cast

import orjson
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from services.gateway.platform.auth.browsers import COOKIE, HEADER
from services.gateway.platform.auth.permissions import Access
from services.gateway.platform.commands.schema import LongOperation
from services.gateway.platform.lists.field_masks import FIELDS, MOST_CHARACTERS
from services.gateway.platform.operation import MAX_KEY_CHARS, Idempotency, Operation
from services.gateway.platform.schema import describe_field
from services.gateway.sessions.schema import CreatedSession

API_VERSION = "1.0.0"

Document = dict[str, Any]
Rows = tuple[Operation[Any, Any], ...]

_REF = "#/components/schemas/{model}"
_PROBLEM: Document = {
    "type": "object",
    "description": "RFC 9457: what went wrong, where in the input, and what to do.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; programs decide by it."},
        "detail": {"type": "string"},
        "place": {"type": "string", "description": "Where in the input."},
        "hint": {"type": "string", "description": "What would help."},
        "instance": {"type": "string"},
        "trace_id": {"type": "string"},
        "retry_after": {"type": "number", "description": "Seconds."},
    },
    "required": ["type", "title", "status", "code", "detail", "instance"],
}

_ETAG: Document = {
    "description": "Names the thing as it was when it was looked at: for `If-Match` and `If-None-Match`.",
    "schema": {"type": "string"},
}

_FIELDS: Document = {
    "description": "Only these fields, separated by commas and dotted where they are parts of parts: `id,name,best.value`; of a list "
    "they are its items'. The rest is left out, and the ETag is of the whole.",
    "schema": {"type": "string", "maxLength": MOST_CHARACTERS},
}


def render_openapi(operations: Rows) -> bytes:
    """The document as JSON."""
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Muster",
            "version": API_VERSION,
            "description": "Hyperparameter search, training and model versions. gRPC serves the same operations.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"session": []}],
        "paths": _paths(operations),
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "An access token, `mst_…`."},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-muster",
                    "description": f"A browser's session; counts with `{HEADER}: {COOKIE}` from a page of this gateway's own.",
                },
                "join_token": {"type": "http", "scheme": "bearer", "description": "A one-time join token."},
            },
            "headers": {"ETag": _ETAG},
            "responses": {
                "Problem": {
                    "description": "What went wrong.",
                    "content": {
                        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                    },
                }
            },
        },
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def _schemas(operations: Rows) -> Document:
    models: dict[type[BaseModel], str] = {}
    for row in operations:
        if row.has_body:
            models[row.request] = "validation"
        models[row.response] = "serialization"
    pairs = [(model, cast(Any, mode)) for model, mode in models.items()]
    _, schema = models_json_schema(pairs, ref_template=_REF, schema_generator=GenerateJsonSchema)
    schemas = dict(schema["$defs"])
    for row in operations:
        if row.has_body:
            schemas[row.request.__name__] = _without(schemas[row.request.__name__], row.path_fields)
    return dict(sorted((schemas | {"Problem": _PROBLEM}).items()))


def _without(schema: Document, fields: tuple[str, ...]) -> Document:
    """The body's schema: what stands in the path is not in it."""
    found = dict(schema)
    found["properties"] = {
        key: value for key, value in schema.get("properties", {}).items() if key not in fields
    }
    found["required"] = [key for key in schema.get("required", []) if key not in fields]
    if not found["required"]:
        del found["required"]
    return found


def _paths(operations: Rows) -> Document:
    paths: Document = {}
    for row in operations:
        paths.setdefault(row.path, {})[row.verb.lower()] = _operation(row)
    return paths


def _operation(row: Operation[Any, Any]) -> Document:
    found: Document = {
        "operationId": row.name,
        "summary": row.summary,
        "tags": [row.path.split("/")[2]],
        "x-permission": str(row.permission),
        "parameters": _parameters(row),
        "responses": _responses(row),
    }
    if row.retired is not None:
        found["deprecated"] = True
    if row.permission is Access.PUBLIC:
        found["security"] = []
    if row.permission is Access.JOIN_TOKEN:
        found["security"] = [{"join_token": []}]
    if row.stream == "upload":
        schema = {"type": "string", "format": "binary", "contentMediaType": "application/gzip"}
        found["requestBody"] = {"required": True, "content": {"application/gzip": {"schema": schema}}}
    elif row.has_body:
        schema = {"$ref": _REF.format(model=row.request.__name__)}
        content = {"application/json": {"schema": schema}}
        found["requestBody"] = {"required": bool(_asked_in_body(row)), "content": content}
    return found


def _asked_in_body(row: Operation[Any, Any]) -> list[str]:
    """The fields that a body must have; who has none to give may leave the body out."""
    fields = row.request.model_fields.items()
    return [name for name, info in fields if info.is_required() and name not in row.path_fields]


def _responses(row: Operation[Any, Any]) -> Document:
    found = {str(row.status): _success(row), "default": {"$ref": "#/components/responses/Problem"}}
    if row.is_tagged:
        found[str(row.status)]["headers"] = {"ETag": {"$ref": "#/components/headers/ETag"}}
    if row.long:
        found["202"] = {
            "description": "It takes longer than a request waits: look at the operation until it is done. "
            "`Prefer: respond-async` has it as the body; else it is the thing as it is until then.",
            "headers": {"Location": {"description": "The operation.", "schema": {"type": "string"}}},
            "content": {"application/json": {"schema": {"anyOf": [_ref(LongOperation), _ref(row.response)]}}},
        }
    if row.is_tagged and row.verb == "GET":
        found["304"] = {"description": "`If-None-Match` names what it is still."}
    return found


def _ref(model: type[BaseModel]) -> Document:
    return {"$ref": _REF.format(model=model.__name__)}


def _success(row: Operation[Any, Any]) -> Document:
    media = "text/event-stream" if row.stream == "server" else "application/json"
    schema = {"$ref": _REF.format(model=row.response.__name__)}
    summary = (row.response.__doc__ or "").strip().splitlines()[0]
    content: Document = {media: {"schema": schema}}
    if row.csv is not None:
        content["text/csv"] = {"schema": {"type": "string"}}
    return {"description": summary, "content": content}


def _parameters(row: Operation[Any, Any]) -> list[Document]:
    schema = row.request.model_json_schema(ref_template=_REF)
    properties: Document = schema.get("properties", {})
    definitions: Document = schema.get("$defs", {})
    parameters = []
    for name, found in properties.items():
        in_path = name in row.path_fields
        if not in_path and (row.has_body or row.stream == "upload"):
            continue
        parameters.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path or name in schema.get("required", []),
                "schema": _inline(found, definitions),
                **({"description": told} if (told := describe_field(row.request, name)) else {}),
            }
        )
    if row.is_masked:
        parameters.append({"name": FIELDS, "in": "query", "required": False, **_FIELDS})
    if row.idempotent is Idempotency.KEY:
        parameters.append(
            _header(
                "Idempotency-Key",
                "The same key and request have the same answer for 24 hours.",
                minLength=1,
                maxLength=MAX_KEY_CHARS,
            )
        )
    if row.response is CreatedSession:
        parameters.append(
            _header(HEADER, f"`{COOKIE}`: the secret is not shown, and the browser has it in a cookie.")
        )
    if row.long:
        parameters.append(
            _header("Prefer", "`respond-async`: what takes long is answered with its operation.")
        )
    if row.conditional:
        parameters.append(
            _header("If-Match", "The ETag of what you saw: changed since, it is left alone (412).")
        )
    if row.is_tagged and row.verb == "GET":
        parameters.append(_header("If-None-Match", "The ETag of what you have: 304 while it is still that."))
    if row.stream == "server":
        parameters.append(_header("Last-Event-ID", "Goes on behind this event; stronger than `after`."))
    return parameters


def _header(name: str, description: str, **bounds: int) -> Document:
    schema = {"type": "string", **bounds}
    return {"name": name, "in": "header", "required": False, "schema": schema, "description": description}


def _inline(schema: Any, definitions: Document) -> Any:
    """`schema` with references to enums written out: parameters name no component."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inline(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
        return {key: _inline(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]
    return schema
