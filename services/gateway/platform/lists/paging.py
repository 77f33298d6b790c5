"""Pages of lists, with signed cursors that are bound to tenant, operation and filters."""

from collections.abc import Sequence
from typing import TypeVar

import orjson

from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.cursors import decode_cursor, encode_cursor
from services.gateway.platform.schema import ListRequest, Request, Resource
from shared.filters.fields import ListQuery, Position, position_of
from shared.filters.in_memory import cell_of, select

Res = TypeVar("Res", bound=Resource)
_NOT_A_FILTER = {"cursor", "limit", "after"}


def read_wanted(call: Call, request: ListRequest) -> ListQuery:
    """Parse filter, order and cursor of a request. Raises Rejected for a malformed expression or a foreign cursor."""
    filter_, orders = request.listing.read(request.filter, request.sort)
    return ListQuery(filter_, orders, read_cursor(call, request, request.cursor), request.limit)


def choose_page(
    call: Call, request: ListRequest, wanted: ListQuery, items: Sequence[Res]
) -> tuple[list[Res], str | None]:
    """Filter and sort items in memory. Return the page and the cursor of the next one."""
    found = select(items, wanted, cell_of)
    page = found[: wanted.limit]
    if len(found) == len(page):
        return page, None
    last = position_of(cell_of(page[-1], order.column) for order in wanted.orders)
    return page, make_cursor(call, request, last)


def next_cursor(call: Call, request: Request, position: Position | None) -> str | None:
    """Return the cursor of a position; None at the end of the list."""
    return None if position is None else make_cursor(call, request, position)


def read_cursor(call: Call, request: Request, cursor: str | None, place: str = "cursor") -> Position | None:
    """Return the position of a cursor; None without a cursor. Raises Rejected for a foreign or changed cursor."""
    if not cursor:
        return None
    return decode_cursor(call.dependencies.keys.cursor, _scope(call, request), cursor, place)


def make_cursor(call: Call, request: Request, position: Position) -> str:
    """Return the cursor of a position in this list."""
    return encode_cursor(call.dependencies.keys.cursor, _scope(call, request), position)


def _scope(call: Call, request: Request) -> str:
    filters = request.model_dump(mode="json", exclude=_NOT_A_FILTER, exclude_defaults=True)
    return f"{call.tenant}:{call.operation}:{orjson.dumps(filters, option=orjson.OPT_SORT_KEYS).decode()}"
