"""Builds HTTP responses: the resource in the requested format, or 202 for a long operation."""

import math
from typing import Any

import orjson
from aiohttp import web

from services.gateway.platform.commands.long_operation_answers import OperationInProgress
from services.gateway.platform.etags import names_tag, tag_of
from services.gateway.platform.lists.field_masks import Include, keep
from services.gateway.platform.operation import Operation
from services.gateway.platform.preconditions import tag_of_resource
from services.gateway.platform.schema import Resource
from services.gateway.transports.rest.request_parsing import read_list

CSV = "text/csv"
RESPOND_ASYNC = "respond-async"
"""Value of `Prefer` (RFC 7240) from clients that accept an operation as the response."""
WAITING_HEADER = "Muster-Waiting"
"""Header with the reason why a stored command is not sent yet, for responses that contain the resource."""


def accepted_response(request: web.Request, error: OperationInProgress) -> web.Response | None:
    """Return the 202 response for a long operation. None if there is no resource and the client does not prefer operations: then it gets an error."""
    headers = {
        "Location": f"/v1/operations/{error.operation.id}",
        "Retry-After": str(math.ceil(error.retry_after_s)),
    }
    if error.operation.waiting:
        headers[WAITING_HEADER] = error.operation.waiting
    prefers = ",".join(request.headers.getall("Prefer", [])).lower()
    if RESPOND_ASYNC in (one.partition(";")[0].strip() for one in prefers.split(",")):
        headers["Preference-Applied"] = RESPOND_ASYNC
        content: Resource | None = error.operation
    else:
        content = error.present
    if content is None:
        return None
    return web.Response(body=content.to_json(), status=202, content_type="application/json", headers=headers)


def resource_response(
    request: web.Request, row: Operation[Any, Any], found: Resource, mask: Include | None
) -> web.Response:
    """Return the response with the requested fields and the entity tag, or 304. The tag is that of the whole resource, as `If-Match` needs it."""
    if row.csv is not None and CSV in request.headers.get("Accept", ""):
        body, media = row.csv(found).encode(), CSV
        tag = tag_of(body) if row.is_tagged else ""
    else:
        body, media = found.to_json(), "application/json"
        tag = tag_of_resource(found, body) if row.is_tagged else ""
    headers = {"ETag": tag} if row.is_tagged else {}
    known = read_list(request, "If-None-Match") if row.verb == "GET" and headers else None
    if known is not None and names_tag(known, headers["ETag"], "If-None-Match", is_weak=True):
        return web.Response(status=304, headers=headers)
    if mask is not None and media != CSV:
        body = orjson.dumps(keep(orjson.loads(body), mask))
    charset = "utf-8" if media == CSV else None
    return web.Response(body=body, status=row.status, content_type=media, charset=charset, headers=headers)
