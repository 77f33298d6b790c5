"""JSON documents of callers: limits on depth and size, merging, and error locations."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from muster.errors import Rejected

MAX_DEPTH = 64
MAX_NODES = 200_000
_MAX_QUOTED_CHARS = 40

JsonObject = dict[str, JsonValue]


def check_document(document: JsonValue, place: str = "body") -> None:
    """Raise Rejected if `document` exceeds the maximum depth or number of values."""
    level: list[JsonValue] = [document]
    nodes = depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise Rejected("too_deep", f"the JSON is nested deeper than {MAX_DEPTH} levels", place)
        below: list[JsonValue] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        nodes += len(level)
        if nodes + len(below) > MAX_NODES:
            raise Rejected("too_many_values", f"the JSON contains more than {MAX_NODES} values", place)
        level = below


def check_keys(text: str) -> None:
    """Raise Rejected if an object in a valid JSON text has a key twice: parsers differ in which value they use."""
    if not text.strip():
        return
    try:
        document = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    except RecursionError:
        raise Rejected("too_deep", f"the JSON is nested deeper than {MAX_DEPTH} levels", "body") from None
    level: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while level:
        place, value = level.pop()
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for key, below in value:
                if key in seen:
                    raise Rejected(
                        "duplicate_key",
                        f"the key {key[:_MAX_QUOTED_CHARS]!r} occurs twice in the same object",
                        render_place((*place, key)),
                        "send each key once",
                    )
                seen.add(key)
                level.append(((*place, key), below))
        elif isinstance(value, list):
            level.extend(((*place, index), below) for index, below in enumerate(value))


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, in their order."""


def merge_patch(document: JsonObject, patch: JsonObject) -> JsonObject:
    """Apply a JSON merge patch (RFC 7396): objects are merged, null removes, other values replace."""
    merged = dict(document)
    for key, value in patch.items():
        before = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge_patch(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def render_place(location: Sequence[str | int]) -> str:
    """Format a location in a document: `labels[2]`, `config.searcher`."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "body"
