"""What is answered: what was found, in the form that was asked for, or the operation that goes on."""

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
"""What a client prefers (RFC 7240) that takes an operation for an answer."""
WAITING_HEADER = "Muster-Waiting"
"""Why what was stored is not on its way yet, beside an answer that shows the thing itself."""


def accepted_response(request: web.Request, error: OperationInProgress) -> web.Response | None:
    """What was asked for goes on: where it can be looked at. None where only a problem says it to who does not know of operations."""
    headers = {
        "Location": f"/v1/operations/{error.operation.id}",
        "Retry-After": str(math.ceil(error.retry_after_s)),
    }
    if error.operation.waiting:
        headers[WAITING_HEADER] = error.operation.waiting
    prefers = ",".join(request.headers.getall("Prefer", [])).lower()
    if RESPOND_ASYNC in (one.partition(";")[0].strip() for one in prefers.split(",")):
        headers["Preference-Applied"] = RESPOND_ASYNC
        told: Resource | None = error.operation
    else:
        told = error.present
    if told is None:
        return None
    return web.Response(body=told.to_json(), status=202, content_type="application/json", headers=headers)


def resource_response(
    request: web.Request, row: Operation[Any, Any], found: Resource, mask: Include | None
) -> web.Response:
    """The answer, or what is asked of it, with its tag, or the word that the caller has it already. The tag is of the whole, as `If-Match` takes it."""
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
