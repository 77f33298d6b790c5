"""Saved views: places of the dashboard that one has named, for oneself."""

from collections.abc import Sequence

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited
from muster.client.transport import Transport, segment

_PATH = "/v1/views"


class Views:
    """One's own named places of the dashboard."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Sequence[models.SavedView]:
        """Return one's views, by name."""
        return self._transport.get(models.SavedViews, _PATH).items

    def save(self, name: str, address: str) -> models.SavedView:
        """Keep a place of the dashboard, such as `/experiments?filter=…`, under a name; one of that name is replaced."""
        return self._transport.put(models.SavedView, _PATH, {"name": name, "address": address})

    def delete(self, name: str) -> None:
        """Forget a view."""
        self._transport.delete(models.Done, f"{_PATH}/{segment(name)}")


class AsyncViews(AsyncNoun[Views]):
    """`Views`, awaited."""

    list = awaited(Views.list)
    save = awaited(Views.save)
    delete = awaited(Views.delete)
