"""Parses HTTP requests into request models, with the location of each error."""

import asyncio
from collections.abc import Sequence
from typing import Any, get_origin

import orjson
from aiohttp import web
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from muster.errors import Rejected, Transient, describe_fault
from services.gateway.platform.json_documents import check_document, check_keys, render_place
from services.gateway.platform.lists.field_masks import FIELDS, Include, read_mask
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Request

MAX_BODY_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_MAX_QUOTED_CHARS = 40


async def read_request(request: web.Request, row: Operation[Any, Any], body_timeout_s: float) -> Request:
    """Parse path, query and body into the request model of `row`.

    Raises:
        Rejected: the request does not match the model.
    """
    path = dict(request.match_info)
    if not row.has_body:
        if row.stream != "upload" and request.can_read_body:
            raise Rejected("invalid_request", f"{row.verb} {row.path} does not accept a body", "body")
        return parse_query(row, path, request)
    if request.query_string:
        name = next(iter(request.query), "query")
        raise Rejected(
            "invalid_request", "this operation expects its fields in the body, not in the query", name
        )
    raw = await read_body(request, body_timeout_s)
    return parse_body(row.request, raw, path)


def parse_query(row: Operation[Any, Any], path: dict[str, str], request: web.Request) -> Request:
    """Parse query parameters into the request model. Parameters of lists may be repeated."""
    values: dict[str, Any] = dict(path)
    for name in request.query:
        if name == FIELDS and row.is_masked:
            continue
        info = row.request.model_fields.get(name)
        if info is None or name in path:
            raise Rejected("invalid_request", f"unknown parameter {name!r}", name, _known(row))
        given = request.query.getall(name)
        is_list = get_origin(info.annotation) is list
        if len(given) > 1 and not is_list:
            raise Rejected("invalid_request", "this parameter can be set only once", name)
        values[name] = given if is_list else given[0]
    try:
        made: Request = row.request.model_validate(values)
    except ValidationError as error:
        raise _rejected_query(error) from None
    return made


def read_fields(row: Operation[Any, Any], request: web.Request) -> Include | None:
    """Return the requested fields of the response; None: all."""
    given = request.query.getall(FIELDS, []) if row.is_masked else []
    return read_mask(",".join(given), row.response) if given else None


def parse_body(model: type[Request], raw: bytes, path: dict[str, str]) -> Request:
    """Parse a body, a strictly typed JSON object, together with the path's fields."""
    try:
        document = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError as error:
        raise Rejected(
            "invalid_json", f"the body is not JSON: {error.msg}", f"line {error.lineno}, column {error.colno}"
        ) from None
    if not isinstance(document, dict):
        raise Rejected("invalid_json", "the body must be a JSON object", "body")
    check_document(document)
    check_keys(raw.decode())
    for name in path:
        if name in document:
            raise Rejected("invalid_request", "this field belongs in the path, not in the body", name)
    whole = orjson.dumps(document | path) if path else raw.strip() or b"{}"
    try:
        return model.model_validate_json(whole, strict=True)
    except ValidationError as error:
        raise rejected(error) from None


def validate(model: type[Request], values: dict[str, Any]) -> Request:
    """Create the model from `values`. Strings are converted to the types of the fields."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise rejected(error) from None


def rejected(error: ValidationError) -> Rejected:
    """Return the first validation error with its location and the number of further errors."""
    faults = error.errors(include_url=False, include_input=False)
    return Rejected("invalid_request", _message(faults), render_place(faults[0]["loc"]))


def _rejected_query(error: ValidationError) -> Rejected:
    """Like `rejected`, located at the parameter's name without an index; the message quotes the value of a repeated parameter."""
    faults = error.errors(include_url=False)
    place = faults[0]["loc"]  # Empty for an error of the whole request.
    which = f", not {str(faults[0]['input'])[:_MAX_QUOTED_CHARS]!r}" if place[1:] else ""
    return Rejected("invalid_request", _message(faults, which), render_place(place[:1]))


def _message(faults: Sequence[ErrorDetails], which: str = "") -> str:
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return describe_fault(first["type"], first["msg"], first.get("ctx", {})) + which + more


async def read_body(request: web.Request, timeout_s: float, limit: int = MAX_BODY_BYTES) -> bytes:
    """Read the whole body. Raises Rejected unless it is JSON and at most `limit` bytes, and Transient if it does not arrive in time."""
    if request.content_type not in (
        "application/json",
        "application/octet-stream",
    ) or request.charset not in (
        None,
        "utf-8",
    ):
        raise Rejected(
            "unsupported_media_type",
            f"content type {request.content_type} is not supported",
            hint="send application/json",
        )
    if request.content_length is not None and request.content_length > limit:
        raise too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in request.content.iter_chunked(_CHUNK_BYTES):
                body += chunk
                if len(body) > limit:
                    raise too_large(limit)
    except TimeoutError:
        raise slow_body(timeout_s) from None
    return bytes(body)


def check_encoding(request: web.Request) -> None:
    """Raise Rejected for a compressed body: its real size is known only after decompression."""
    if "Content-Encoding" in request.headers:
        raise Rejected(
            "unsupported_media_type",
            "compressed bodies are not supported",
            "Content-Encoding",
            "send the body uncompressed, without this header",
        )


def too_large(limit: int) -> Rejected:
    return Rejected("too_large", f"the body is larger than {limit // 1024} KiB", "body")


def slow_body(timeout_s: float) -> Transient:
    return Transient(f"the body did not arrive within {timeout_s:g} s", code="slow_body")


def _known(row: Operation[Any, Any]) -> str:
    names = [name for name in row.request.model_fields if name not in row.path_fields]
    names += [FIELDS] if row.is_masked else []
    return f"parameters: {', '.join(names)}" if names else "this operation has no parameters"


def read_list(request: web.Request, header: str) -> str | None:
    """Return a list header, joined if it is sent in several lines; None without it."""
    return ", ".join(request.headers.getall(header)) if header in request.headers else None
