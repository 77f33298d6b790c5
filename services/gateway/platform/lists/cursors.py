"""Opaque page cursors, signed so that clients cannot forge them or use them for another list."""

import base64
import binascii
import hashlib
import hmac
import json

from muster.errors import Rejected
from shared.filters.fields import Position

_MAC_BYTES = 12


def encode_cursor(key: bytes, scope: str, position: Position) -> str:
    """Return the cursor for `position` within `scope` (tenant, operation and filters)."""
    body = json.dumps(position, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_mac(key, scope, body) + body).rstrip(b"=").decode()


def decode_cursor(key: bytes, scope: str, cursor: str, place: str = "cursor") -> Position:
    """Verify a cursor and return its position.

    Raises:
        Rejected: the cursor belongs to another list or another key, or was changed.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (binascii.Error, ValueError):
        raise _invalid(place) from None
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(key, scope, body)):
        raise _invalid(place)
    position: Position = json.loads(body)
    return position


def _mac(key: bytes, scope: str, body: bytes) -> bytes:
    return hmac.digest(key, scope.encode() + b"\0" + body, hashlib.sha256)[:_MAC_BYTES]


def _invalid(place: str) -> Rejected:
    return Rejected(
        "cursor_invalid",
        "this cursor does not belong to this list",
        place,
        "use a cursor only with the same tenant, operation and filters; start again without a cursor",
    )
