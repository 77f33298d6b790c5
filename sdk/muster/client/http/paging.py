"""Long responses: pages fetched on demand, and event streams that survive broken connections."""

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
    """Structure of every page of the API."""

    @property
    def items(self) -> Sequence[ItemT_co]: ...
    @property
    def next_cursor(self) -> str | None: ...
    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray) -> Self: ...


class Items(Generic[ItemT]):
    """A list that is fetched page by page during iteration; each iteration fetches it again."""

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
    """Return the items listed by `GET path`."""
    return Items(transport, page, path, query or {})


def follow(
    transport: Transport, model: type[ItemT], path: str, query: Query, after: str | None = None
) -> Iterator[ItemT]:
    """Yield the items streamed by `GET path`, after the item `after`, until the server ends the stream.

    A connection that breaks, or closes without an end event, is resumed.

    Raises:
        MusterError: The problem that the server reports; `Transient` only after a minute without success.
    """
    retry_limit = RetryDeadline()
    while True:
        try:
            for event in _events(transport, path, query, after):
                retry_limit.reset()
                after = event.id or after
                if event.event == "end":
                    return
                if event.event == "problem":
                    raise from_problem(_object(event.data))
                if event.data:  # else a heartbeat, or a position to resume from
                    yield _parsed(model, event.data)
            raise Transient(f"the stream {path} was closed before its end")
        except Transient as error:
            retry_limit.bear(error)


def _events(transport: Transport, path: str, query: Query, after: str | None) -> Iterator[ServerSentEvent]:
    with transport.stream(path, {**query, "after": after}, after) as answer:
        try:
            yield from EventSource(answer).iter_sse()
        except SSEError as error:
            raise Broken(
                f"{path} did not answer with an event stream: check that the address is a Muster platform"
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
    return content if isinstance(content, dict) else {"detail": data or "the stream was interrupted"}
