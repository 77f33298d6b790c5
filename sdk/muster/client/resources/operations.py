"""Your long-running operations of the last day.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Operations(APIResource):
    """Your long-running operations of the last day."""

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.LongOperation]:
        """List the caller's long operations of the last day, newest first by default.

        Args:
            filter: An expression over `operation`, `created_at`, `state`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.LongOperationPage,
            "/v1/operations",
            query_params(filter=filter, sort=sort),
        )

    def get(self, operation: Reference) -> models.LongOperation:
        """Show the state of a long operation. Only the caller who started it sees it."""
        return self._transport.get(models.LongOperation, f"/v1/operations/{segment(operation)}")


class AsyncOperations(AsyncAPIResource[Operations]):
    """`Operations`, awaited."""

    list = listed(Operations.list)
    get = awaited(Operations.get)
