"""Validation of media packs."""

import re
from collections.abc import Sequence

from services.registry.core.metadata import encode_json
from services.registry.core.names import InputRefusal, refuse_path
from services.registry.series.core.names import refuse_metric_name
from shared.messages.media import ITEMS_PER_PACK, PACK_BYTES, MediaItem

ABOUT_BYTES = 4 * 1024
CONTENT_TYPES = {
    "image": {"image/png", "image/jpeg", "image/gif", "image/webp"},
    "table": {"application/json"},
    "text": {"text/plain"},
    "histogram": {"application/json"},
    "events": {"application/octet-stream"},
}
_MOST = 2**63 - 1
_LAST_MS = 253_402_300_799_999
"""End of the year 9999."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def refuse_pack(size_bytes: int, sha256: str) -> InputRefusal | None:
    """Return why a pack is rejected; None if it is valid."""
    if 0 <= size_bytes <= PACK_BYTES and _SHA256.fullmatch(sha256):
        return None
    return InputRefusal(
        "media_pack",
        f"a pack needs a SHA-256 and may have at most {PACK_BYTES} bytes; this one has {size_bytes}",
    )


def choose_kept(
    items: Sequence[MediaItem], size_bytes: int
) -> tuple[list[tuple[int, MediaItem]], InputRefusal | None]:
    """Return the valid items of a pack with their indices, and why the first of the others is rejected."""
    kept: list[tuple[int, MediaItem]] = []
    refused: InputRefusal | None = None
    for index, item in enumerate(items):
        refusal = _refuse_item(item, size_bytes, index)
        if refusal is None:
            kept.append((index, item))
        refused = refused or refusal
    return kept, refused


def _refuse_item(item: MediaItem, size_bytes: int, index: int) -> InputRefusal | None:
    if index >= ITEMS_PER_PACK:
        return InputRefusal("media_too_many", f"a pack may have at most {ITEMS_PER_PACK} items")
    if refusal := refuse_metric_name(item.group):
        return refusal
    if refusal := refuse_path(item.name) if item.kind == "events" else refuse_metric_name(item.name):
        return refusal
    if not (0 <= item.step <= _MOST and 0 <= item.time_ms <= _LAST_MS):
        return InputRefusal("number_range", f"the step or time of {item.name!r} is out of range")
    if item.size_bytes < 0 or item.offset < 0 or item.offset + item.size_bytes > size_bytes:
        return InputRefusal("media_place", f"the byte range of {item.name!r} is outside its pack")
    if item.content_type not in CONTENT_TYPES[item.kind] or not _SHA256.fullmatch(item.sha256):
        return InputRefusal(
            "media_type",
            f"{item.name!r} needs a SHA-256 and a content type allowed for {item.kind!r}, not {item.content_type!r}",
        )
    about = encode_json(item.about)
    if len(about) > ABOUT_BYTES or b"\\u0000" in about:
        return InputRefusal(
            "media_about",
            f"the metadata of {item.name!r} may have at most {ABOUT_BYTES} bytes, without NUL characters",
        )
    return None
