"""What may lie in a pack of media."""

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
"""The end of the year 9999."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def refuse_pack(size_bytes: int, sha256: str) -> InputRefusal | None:
    """Return why a pack is not taken; None when it is."""
    if 0 <= size_bytes <= PACK_BYTES and _SHA256.fullmatch(sha256):
        return None
    return InputRefusal(
        "media_pack", f"a pack has at most {PACK_BYTES} bytes and a SHA-256, not {size_bytes}"
    )


def choose_kept(
    items: Sequence[MediaItem], size_bytes: int
) -> tuple[list[tuple[int, MediaItem]], InputRefusal | None]:
    """Return what of a pack is kept, with its places in it, and why the first of the others is not."""
    kept: list[tuple[int, MediaItem]] = []
    refused: InputRefusal | None = None
    for place, item in enumerate(items):
        refusal = _refuse_item(item, size_bytes, place)
        if refusal is None:
            kept.append((place, item))
        refused = refused or refusal
    return kept, refused


def _refuse_item(item: MediaItem, size_bytes: int, place: int) -> InputRefusal | None:
    if place >= ITEMS_PER_PACK:
        return InputRefusal("media_too_many", f"a pack has at most {ITEMS_PER_PACK} pieces")
    if refusal := refuse_metric_name(item.group):
        return refusal
    if refusal := refuse_path(item.name) if item.kind == "events" else refuse_metric_name(item.name):
        return refusal
    if not (0 <= item.step <= _MOST and 0 <= item.time_ms <= _LAST_MS):
        return InputRefusal("number_range", f"step or time of {item.name!r} is beyond 64 bits")
    if item.size_bytes < 0 or item.offset < 0 or item.offset + item.size_bytes > size_bytes:
        return InputRefusal("media_place", f"{item.name!r} lies beyond its pack")
    if item.content_type not in CONTENT_TYPES[item.kind] or not _SHA256.fullmatch(item.sha256):
        return InputRefusal("media_type", f"{item.content_type!r} is no type of the kind {item.kind!r}")
    about = encode_json(item.about)
    if len(about) > ABOUT_BYTES or b"\\u0000" in about:
        return InputRefusal(
            "media_about", f"what is said about {item.name!r} has more than {ABOUT_BYTES} bytes"
        )
    return None
