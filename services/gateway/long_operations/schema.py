"""API schema of long operations, which take longer than a request waits and are polled by id."""

from services.gateway.platform.commands.schema import LongOperation
from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from shared.filters.fields import Listing


class LongOperationPage(Resource):
    """A page of operations, newest first."""

    items: list[LongOperation]
    next_cursor: str | None = None


class OperationRequest(Request):
    """An operation by the id from the response of its request."""

    operation: Reference


class ListOperationsRequest(ListRequest):
    """Filters for the caller's long operations of the last day. A filtered page may hold fewer items than its limit and still have a `next_cursor`."""

    listing = Listing.of(LongOperation, *("operation", "created_at"), usual="-id", reckoned=("state",))
