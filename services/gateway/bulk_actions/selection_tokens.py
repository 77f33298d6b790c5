"""The word for what a filter met: signed, so that an action is on what somebody saw and counted, and on nothing else. Pure."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID

from muster.errors import Rejected
from services.gateway.platform.lists.cursors import decode_cursor, encode_cursor

LIFETIME = timedelta(minutes=10)
FIELD = "selection"


@dataclass(frozen=True, slots=True)
class Selection:
    """A filter and what it met."""

    filter: str
    archived: bool
    count: int
    digest: str
    expires_at: datetime


def digest_of(ids: Iterable[UUID]) -> str:
    """Return what tells sets of ids apart, whatever their order."""
    return hashlib.sha256(b"".join(sorted(one.bytes for one in ids))).hexdigest()[:32]


def encode_selection(key: bytes, scope: str, found: Selection) -> str:
    """Return the word for a selection within `scope` (tenant and caller)."""
    until_s = int(found.expires_at.timestamp())
    return encode_cursor(key, scope, [until_s, found.count, found.digest, int(found.archived), found.filter])


def decode_selection(key: bytes, scope: str, word: str, now: datetime) -> Selection:
    """Return the selection that a word is for.

    Raises:
        Rejected: it is another caller's, was changed, or is too old.
    """
    try:
        until_s, count, digest, archived, filter_ = decode_cursor(key, scope, word, FIELD)
    except Rejected:
        raise Rejected(
            "selection_invalid", "this is no selection of yours", FIELD, "look again, and act on what you see"
        ) from None
    expires_at = datetime.fromtimestamp(cast(int, until_s), UTC)
    if expires_at <= now:
        raise Rejected(
            "selection_expired", f"it was good until {expires_at:%H:%M:%S} UTC", FIELD, "look again"
        )
    return Selection(str(filter_), bool(archived), cast(int, count), str(digest), expires_at)
