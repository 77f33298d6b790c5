"""Pages of lists: signed cursors bound to caller, operation and filters."""

import orjson

from services.gateway.api.base import Request
from services.gateway.core.cursors import Position, decode_cursor, encode_cursor
from services.gateway.operations.call import Call

_NOT_A_FILTER = {"cursor", "limit", "after"}


def read_cursor(call: Call, request: Request, cursor: str | None, place: str = "cursor") -> Position | None:
    """The position that `cursor` names; None without one. Raises Rejected for a foreign or changed cursor."""
    if not cursor:
        return None
    return decode_cursor(call.doors.keys.cursor, _scope(call, request), cursor, place)


def make_cursor(call: Call, request: Request, position: Position) -> str:
    """The cursor of `position` in this list."""
    return encode_cursor(call.doors.keys.cursor, _scope(call, request), position)


def _scope(call: Call, request: Request) -> str:
    filters = request.model_dump(mode="json", exclude=_NOT_A_FILTER, exclude_defaults=True)
    return f"{call.tenant}:{call.operation}:{orjson.dumps(filters, option=orjson.OPT_SORT_KEYS).decode()}"
