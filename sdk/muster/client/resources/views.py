"""One's own named places of the dashboard.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.http.fields import json_body
from muster.client.http.transport import Reference, segment


class Views(APIResource):
    """One's own named places of the dashboard."""

    def list(self) -> Sequence[models.SavedView]:
        """Lists the caller's own views, by name."""
        return self._transport.get(models.SavedViews, "/v1/views").items

    def save(self, name: str, address: str) -> models.SavedView:
        """Keeps a view under a name, for the caller alone; one of that name is replaced.

        Args:
            address: Path and query of the place, without a host.
        """
        return self._transport.put(models.SavedView, "/v1/views", json_body(name=name, address=address))

    def delete(self, name: Reference) -> None:
        """Forgets one of the caller's own views."""
        self._transport.delete(models.Done, f"/v1/views/{segment(name)}")


class AsyncViews(AsyncAPIResource[Views]):
    """`Views`, awaited."""

    list = awaited(Views.list)
    save = awaited(Views.save)
    delete = awaited(Views.delete)
