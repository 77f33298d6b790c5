"""Your saved views of the dashboard.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.http.fields import json_body
from muster.client.http.transport import Reference, segment


class Views(APIResource):
    """Your saved views of the dashboard."""

    def list(self) -> Sequence[models.SavedView]:
        """List the caller's saved views, by name."""
        return self._transport.get(models.SavedViews, "/v1/views").items

    def save(self, name: str, address: str) -> models.SavedView:
        """Save a view for the caller. It replaces the caller's view of the same name.

        Args:
            address: Path and query within the dashboard, without a host.
        """
        return self._transport.put(models.SavedView, "/v1/views", json_body(name=name, address=address))

    def delete(self, name: Reference) -> None:
        """Delete one of the caller's saved views."""
        self._transport.delete(models.Done, f"/v1/views/{segment(name)}")


class AsyncViews(AsyncAPIResource[Views]):
    """`Views`, awaited."""

    list = awaited(Views.list)
    save = awaited(Views.save)
    delete = awaited(Views.delete)
