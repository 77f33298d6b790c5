"""Renders errors as problem+json (RFC 9457)."""

import math
from uuid import UUID

import orjson
from aiohttp import web

from muster.errors import MusterError, Transient
from shared.errors import meaning_of

MEDIA_TYPE = "application/problem+json"


def problem_response(error: MusterError, request_id: UUID, trace_id: str | None) -> web.Response:
    """Return the problem response for an error."""
    status = meaning_of(error).http
    members: dict[str, object] = dict(error.to_problem())
    members["status"] = status
    members["instance"] = f"urn:muster:request:{request_id}"
    if trace_id is not None:
        members["trace_id"] = trace_id
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Transient):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    return web.Response(body=orjson.dumps(members), status=status, content_type=MEDIA_TYPE, headers=headers)
