"""Renders errors as gRPC status with google.rpc details."""

from uuid import UUID

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2 as details, status_pb2

from muster.errors import MusterError, Transient
from services.gateway.platform.commands.long_operation_answers import OperationInProgress
from shared.errors import meaning_of

DOMAIN = "muster"
DETAILS_KEY = "grpc-status-details-bin"

Trailing = tuple[tuple[str, bytes], ...]


def status_of(
    error: MusterError, request_id: UUID, trace_id: str | None
) -> tuple[grpc.StatusCode, str, Trailing]:
    """Return the status code, the message, and trailing metadata with the error details."""
    code = grpc.StatusCode[meaning_of(error).grpc]
    status = status_pb2.Status(code=code.value[0], message=error.message)
    facts = {"kind": error.kind, "instance": f"urn:muster:request:{request_id}"}
    if isinstance(error, OperationInProgress):
        facts["operation"] = str(error.operation.id)
    if isinstance(error, Transient) and error.may_take_effect:
        facts["may_take_effect"] = "true"
    facts |= {
        key: value
        for key, value in (("place", error.place), ("hint", error.hint), ("trace_id", trace_id))
        if value
    }
    status.details.add().Pack(details.ErrorInfo(reason=error.code, domain=DOMAIN, metadata=facts))
    if error.place:
        violation = details.BadRequest.FieldViolation(field=error.place, description=error.message)
        status.details.add().Pack(details.BadRequest(field_violations=[violation]))
    if isinstance(error, Transient):
        delay = Duration()
        delay.FromMilliseconds(int(error.retry_after_s * 1000))
        status.details.add().Pack(details.RetryInfo(retry_delay=delay))
    status.details.add().Pack(details.RequestInfo(request_id=str(request_id)))
    return code, str(error), ((DETAILS_KEY, status.SerializeToString()),)
