"""What was ordered and takes longer than a request waits for: looked at by its id until its owner has answered."""

from services.gateway.platform.commands.schema import LongOperation
from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from shared.filters.fields import Listing


class LongOperationPage(Resource):
    """A page of operations, newest first."""

    items: list[LongOperation]
    next_cursor: str | None = None


class OperationRequest(Request):
    """One operation by the id that its request was answered with."""

    operation: Reference


class ListOperationsRequest(ListRequest):
    """The caller's own operations of the last day that took longer than a request waits. A filtered page may hold fewer than its limit and have a next one."""

    listing = Listing.of(LongOperation, *("operation", "created_at"), usual="-id", reckoned=("state",))
