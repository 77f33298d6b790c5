"""Renders the OpenAPI 3.1 document from the table of operations."""

from typing import Any, cast

import orjson
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from services.gateway.platform.auth.csrf import COOKIE, HEADER
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
    "description": "An error (RFC 9457): what happened, where in the request, and what to do.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable error code for programs."},
        "detail": {"type": "string"},
        "place": {"type": "string", "description": "The field or header that caused the error."},
        "hint": {"type": "string", "description": "How to fix the error."},
        "instance": {"type": "string"},
        "trace_id": {"type": "string"},
        "retry_after": {"type": "number", "description": "Seconds to wait before a retry."},
    },
    "required": ["type", "title", "status", "code", "detail", "instance"],
}

_ETAG: Document = {
    "description": "Tag of the resource's current version, for `If-Match` and `If-None-Match`.",
    "schema": {"type": "string"},
}

_FIELDS: Document = {
    "description": "Fields to return, separated by commas, with dots for nested fields: `id,name,best.value`. For a list, the fields of its "
    "items. Other fields are omitted. The ETag is that of the whole resource.",
    "schema": {"type": "string", "maxLength": MOST_CHARACTERS},
}


def render_openapi(operations: Rows) -> bytes:
    """Return the document as JSON."""
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
                    "description": f"A browser's session. Requests must send `{HEADER}: {COOKIE}` from a page of this gateway.",
                },
                "join_token": {"type": "http", "scheme": "bearer", "description": "A one-time join token."},
            },
            "headers": {"ETag": _ETAG},
            "responses": {
                "Problem": {
                    "description": "The request failed.",
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
    """Return the schema of the body, without the fields of the path."""
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
    """Return the required fields of the body. Without any, the body is optional."""
    fields = row.request.model_fields.items()
    return [name for name, info in fields if info.is_required() and name not in row.path_fields]


def _responses(row: Operation[Any, Any]) -> Document:
    found = {str(row.status): _success(row), "default": {"$ref": "#/components/responses/Problem"}}
    if row.is_tagged:
        found[str(row.status)]["headers"] = {"ETag": {"$ref": "#/components/headers/ETag"}}
    if row.long:
        found["202"] = {
            "description": "The request was accepted and is still in progress. Poll the operation in `Location` until it is done. "
            "With `Prefer: respond-async`, the body is the operation; otherwise it is the resource in its current state.",
            "headers": {"Location": {"description": "The operation.", "schema": {"type": "string"}}},
            "content": {"application/json": {"schema": {"anyOf": [_ref(LongOperation), _ref(row.response)]}}},
        }
    if row.is_tagged and row.verb == "GET":
        found["304"] = {"description": "The resource has not changed since the version in `If-None-Match`."}
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
                **({"description": text} if (text := describe_field(row.request, name)) else {}),
            }
        )
    if row.is_masked:
        parameters.append({"name": FIELDS, "in": "query", "required": False, **_FIELDS})
    if row.idempotent is Idempotency.KEY:
        parameters.append(
            _header(
                "Idempotency-Key",
                "Makes retries safe: for 24 hours, the same request with the same key gets the same answer.",
                minLength=1,
                maxLength=MAX_KEY_CHARS,
            )
        )
    if row.response is CreatedSession:
        parameters.append(
            _header(HEADER, f"`{COOKIE}`: set the secret as a cookie instead of returning it in the body.")
        )
    if row.long:
        parameters.append(
            _header("Prefer", "`respond-async`: if the request takes long, answer with its operation.")
        )
    if row.conditional:
        parameters.append(
            _header(
                "If-Match",
                "ETag of the version to change. If the resource has changed since, the request fails (412).",
            )
        )
    if row.is_tagged and row.verb == "GET":
        parameters.append(
            _header(
                "If-None-Match", "ETag of the version that you have. If it is current, the answer is 304."
            )
        )
    if row.stream == "server":
        parameters.append(
            _header("Last-Event-ID", "Resume the stream after this event. Takes precedence over `after`.")
        )
    return parameters


def _header(name: str, description: str, **bounds: int) -> Document:
    schema = {"type": "string", **bounds}
    return {"name": name, "in": "header", "required": False, "schema": schema, "description": description}


def _inline(schema: Any, definitions: Document) -> Any:
    """Return `schema` with references to enums inlined: parameters do not reference components."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inline(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
        return {key: _inline(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]
    return schema
