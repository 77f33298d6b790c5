"""What takes longer than a request waits: looked at until it is done."""

from muster.client import models
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Reference, Transport, segment


class Operations:
    """One's own operations of the last day that took longer than their request waited."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.LongOperation]:
        """Return them, newest first or as they are sorted; `filter` as `operation = DeleteExperiment`."""
        return pages(self._transport, models.LongOperationPage, "/v1/operations", ordered(filter, sort))

    def get(self, operation: Reference) -> models.LongOperation:
        """Return how far one is, and what came of it."""
        return self._transport.get(models.LongOperation, f"/v1/operations/{segment(operation)}")
