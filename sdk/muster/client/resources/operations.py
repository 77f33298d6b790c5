"""One's own operations of the last day that took longer than their request waited.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Operations(APIResource):
    """One's own operations of the last day that took longer than their request waited."""

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.LongOperation]:
        """Lists the caller's operations of the last day that took longer than their request waited, newest first or as they are sorted.

        Args:
            filter: An expression over `operation`, `created_at`, `state`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.LongOperationPage,
            "/v1/operations",
            query_params(filter=filter, sort=sort),
        )

    def get(self, operation: Reference) -> models.LongOperation:
        """Shows how far an operation is that took longer than its request waited; who ordered it sees it."""
        return self._transport.get(models.LongOperation, f"/v1/operations/{segment(operation)}")


class AsyncOperations(AsyncAPIResource[Operations]):
    """`Operations`, awaited."""

    list = listed(Operations.list)
    get = awaited(Operations.get)
