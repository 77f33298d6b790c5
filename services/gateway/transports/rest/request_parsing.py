"""From an HTTP request to a request model: path, query and body, each fault with its place."""

import asyncio
from collections.abc import Sequence
from typing import Any, get_origin

import orjson
from aiohttp import web
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from muster.errors import Rejected, Transient, describe_fault
from services.gateway.platform.json_documents import check_document, render_place
from services.gateway.platform.lists.field_masks import FIELDS, Include, read_mask
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Request

MAX_BODY_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_MOST_SHOWN = 40


async def read_request(request: web.Request, row: Operation[Any, Any], body_timeout_s: float) -> Request:
    """The request model of `row`.

    Raises:
        Rejected: something is not as the model says, with its place.
    """
    path = dict(request.match_info)
    if not row.has_body:
        if row.stream != "upload" and request.can_read_body:
            raise Rejected("invalid_request", f"{row.verb} {row.path} takes no body", "body")
        return parse_query(row, path, request)
    if request.query_string:
        name = next(iter(request.query), "query")
        raise Rejected("invalid_request", "this operation takes its fields in the body", name)
    raw = await read_body(request, body_timeout_s)
    return parse_body(row.request, raw, path)


def parse_query(row: Operation[Any, Any], path: dict[str, str], request: web.Request) -> Request:
    """Query parameters by the model's fields; a list's parameter may be repeated."""
    values: dict[str, Any] = dict(path)
    for name in request.query:
        if name == FIELDS and row.is_masked:
            continue
        info = row.request.model_fields.get(name)
        if info is None or name in path:
            raise Rejected("invalid_request", f"there is no parameter {name!r} here", name, _known(row))
        given = request.query.getall(name)
        is_list = get_origin(info.annotation) is list
        if len(given) > 1 and not is_list:
            raise Rejected("invalid_request", "this parameter was given more than once", name)
        values[name] = given if is_list else given[0]
    try:
        made: Request = row.request.model_validate(values)
    except ValidationError as error:
        raise _rejected_query(error) from None
    return made


def read_fields(row: Operation[Any, Any], request: web.Request) -> Include | None:
    """Which fields of the answer are asked for; None: all."""
    given = request.query.getall(FIELDS, []) if row.is_masked else []
    return read_mask(",".join(given), row.response) if given else None


def parse_body(model: type[Request], raw: bytes, path: dict[str, str]) -> Request:
    """A JSON object, strictly typed, with the path's fields laid beside it."""
    try:
        document = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError as error:
        raise Rejected(
            "invalid_json", f"the body is not JSON: {error.msg}", f"line {error.lineno}, column {error.colno}"
        ) from None
    if not isinstance(document, dict):
        raise Rejected("invalid_json", "the body must be a JSON object", "body")
    check_document(document)
    for name in path:
        if name in document:
            raise Rejected("invalid_request", "this field stands in the path, not in the body", name)
    whole = orjson.dumps(document | path) if path else raw.strip() or b"{}"
    try:
        return model.model_validate_json(whole, strict=True)
    except ValidationError as error:
        raise rejected(error) from None


def validate(model: type[Request], values: dict[str, Any]) -> Request:
    """The model made of `values`, whose texts may stand for numbers and the like."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise rejected(error) from None


def rejected(error: ValidationError) -> Rejected:
    """The first fault as an error with its place; the others are counted."""
    faults = error.errors(include_url=False, include_input=False)
    return Rejected("invalid_request", _told(faults), render_place(faults[0]["loc"]))


def _rejected_query(error: ValidationError) -> Rejected:
    """The same at the parameter's own name: who repeats one writes no indexes. Which of several it was, its value says."""
    faults = error.errors(include_url=False)
    place = faults[0]["loc"]  # of what concerns the whole request: none
    which = f", not {str(faults[0]['input'])[:_MOST_SHOWN]!r}" if place[1:] else ""
    return Rejected("invalid_request", _told(faults, which), render_place(place[:1]))


def _told(faults: Sequence[ErrorDetails], which: str = "") -> str:
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return describe_fault(first["type"], first["msg"], first.get("ctx", {})) + which + more


async def read_body(request: web.Request, timeout_s: float, limit: int = MAX_BODY_BYTES) -> bytes:
    """The whole body, which must be JSON, come in time and be no larger than `limit`."""
    if request.content_type not in (
        "application/json",
        "application/octet-stream",
    ) or request.charset not in (
        None,
        "utf-8",
    ):
        raise Rejected(
            "unsupported_media_type",
            f"{request.content_type} is not understood here",
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
    """Raises Rejected for a compressed body: what it unfolds to is known only when it is there."""
    if "Content-Encoding" in request.headers:
        raise Rejected(
            "unsupported_media_type",
            "a body is taken as it is, without an encoding",
            "Content-Encoding",
            "leave the header out, and the compression",
        )


def too_large(limit: int) -> Rejected:
    return Rejected("too_large", f"the body is larger than {limit // 1024} KiB", "body")


def slow_body(timeout_s: float) -> Transient:
    return Transient(f"the body did not arrive within {timeout_s:g} s", code="slow_body")


def _known(row: Operation[Any, Any]) -> str:
    names = [name for name in row.request.model_fields if name not in row.path_fields]
    names += [FIELDS] if row.is_masked else []
    return f"known: {', '.join(names)}" if names else "none is known"


def read_list(request: web.Request, header: str) -> str | None:
    """A header that may be sent in several lines, which are one list."""
    return ", ".join(request.headers.getall(header)) if header in request.headers else None
