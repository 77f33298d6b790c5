"""User metadata of checkpoints and models: small JSON without what Postgres cannot store."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from services.registry.core.names import InputRefusal

METADATA_BYTES = 64 * 1024


def merge_metadata(known: Mapping[str, JsonValue], given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the merged metadata: a given top-level key replaces the old one, null deletes it (Determined 0.38)."""
    merged = {**known, **given}
    return {key: value for key, value in merged.items() if key not in given or value is not None}


def refuse_metadata(given: Mapping[str, JsonValue]) -> InputRefusal | None:
    """Return why metadata is rejected; None if it is valid."""
    encoded = encode_json(given)
    if len(encoded) > METADATA_BYTES or b"\\u0000" in encoded:
        return InputRefusal(
            "metadata_unfit",
            f"metadata may have at most {METADATA_BYTES} bytes of JSON text, without NUL characters",
        )
    return None


def encode_json(value: JsonValue | Mapping[str, JsonValue]) -> bytes:
    """Return user data as JSON. `orjson` does not support integers of more than 64 bits, such as seeds."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
