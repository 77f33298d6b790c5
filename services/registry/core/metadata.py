"""What people say about a checkpoint: JSON of theirs, small and without what Postgres cannot hold."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from services.registry.core.names import InputRefusal

METADATA_BYTES = 64 * 1024


def merge_metadata(known: Mapping[str, JsonValue], given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what is said from now on: a given top-level key replaces the one before, null takes it away (Determined 0.38)."""
    merged = {**known, **given}
    return {key: value for key, value in merged.items() if key not in given or value is not None}


def refuse_metadata(given: Mapping[str, JsonValue]) -> InputRefusal | None:
    """Return why metadata is not taken; None when it is."""
    encoded = encode_json(given)
    if len(encoded) > METADATA_BYTES or b"\\u0000" in encoded:
        return InputRefusal(
            "metadata_unfit", f"metadata has at most {METADATA_BYTES} bytes of text without NUL"
        )
    return None


def encode_json(value: JsonValue | Mapping[str, JsonValue]) -> bytes:
    """Return what people say as JSON; `orjson` takes no whole number of more than 64 bits, as seeds are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
