"""Long answers: pages fetched as they are needed, and event streams that survive broken connections."""

import json
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

from httpx_sse import EventSource, ServerSentEvent, SSEError
from pydantic import BaseModel, ValidationError

from muster.client.http.errors import RetryDeadline
from muster.client.http.transport import Query, Transport
from muster.errors import Broken, Transient, from_problem

PAGE = 100

ItemT = TypeVar("ItemT", bound=BaseModel)
ItemT_co = TypeVar("ItemT_co", bound=BaseModel, covariant=True)


class Page(Protocol[ItemT_co]):
    """What every page of the API looks like."""

    @property
    def items(self) -> Sequence[ItemT_co]: ...
    @property
    def next_cursor(self) -> str | None: ...
    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray) -> Self: ...


class Items(Generic[ItemT]):
    """A list that is fetched page by page while it is walked through; each walk fetches it anew."""

    def __init__(self, transport: Transport, page: type[Page[ItemT]], path: str, query: Query) -> None:
        self._transport, self._page, self._path, self._query = transport, page, path, query

    def __iter__(self) -> Iterator[ItemT]:
        cursor: str | None = None
        while True:
            page = self._fetch(PAGE, cursor)
            yield from page.items
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def first(self, count: int) -> list[ItemT]:
        """Return the first `count` items, or fewer when there are no more."""
        taken: list[ItemT] = []
        cursor: str | None = None
        while len(taken) < count:
            page = self._fetch(min(PAGE, count - len(taken)), cursor)
            taken += page.items
            if page.next_cursor is None:
                break
            cursor = page.next_cursor
        return taken[:count]

    def all(self) -> list[ItemT]:
        """Return every item."""
        return list(self)

    def _fetch(self, limit: int, cursor: str | None) -> Page[ItemT]:
        return self._transport.get(self._page, self._path, {**self._query, "limit": limit, "cursor": cursor})


def pages(
    transport: Transport, page: type[Page[ItemT]], path: str, query: Query | None = None
) -> Items[ItemT]:
    """Return the items that `GET path` lists."""
    return Items(transport, page, path, query or {})


def follow(
    transport: Transport, model: type[ItemT], path: str, query: Query, after: str | None = None
) -> Iterator[ItemT]:
    """Yield what `GET path` streams, behind the item `after`, until the server says that it is the end.

    A connection that breaks, or closes without that word, is taken up where it was.

    Raises:
        MusterError: The problem that the server states; `Transient` only after a minute of fruitless attempts.
    """
    patience = RetryDeadline()
    while True:
        try:
            for event in _events(transport, path, query, after):
                patience.reset()
                after = event.id or after
                if event.event == "end":
                    return
                if event.event == "problem":
                    raise from_problem(_object(event.data))
                if event.data:  # else a heartbeat, or a position to go on from
                    yield _parsed(model, event.data)
            raise Transient(f"the stream {path} was closed before its end")
        except Transient as error:
            patience.bear(error)


def _events(transport: Transport, path: str, query: Query, after: str | None) -> Iterator[ServerSentEvent]:
    with transport.stream(path, {**query, "after": after}, after) as answer:
        try:
            yield from EventSource(answer).iter_sse()
        except SSEError as error:
            raise Broken(
                f"{path} did not answer with a stream of events: is this a Muster platform?"
            ) from error


def _parsed(model: type[ItemT], data: str) -> ItemT:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise Broken(
            "the platform sent an event that this SDK does not understand: update `muster`"
        ) from error


def _object(data: str) -> dict[str, object]:
    try:
        content = json.loads(data)
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {"detail": data or "the stream broke off"}
