"""Signed tokens for the matches of a filter: an action applies only to the experiments that the caller saw. Pure."""

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
    """A filter and the digest of its matches."""

    filter: str
    archived: bool
    count: int
    digest: str
    expires_at: datetime


def digest_of(ids: Iterable[UUID]) -> str:
    """Return a digest of a set of ids, independent of their order."""
    return hashlib.sha256(b"".join(sorted(one.bytes for one in ids))).hexdigest()[:32]


def encode_selection(key: bytes, scope: str, found: Selection) -> str:
    """Return the token of a selection, valid within `scope` (tenant and caller)."""
    until_s = int(found.expires_at.timestamp())
    return encode_cursor(key, scope, [until_s, found.count, found.digest, int(found.archived), found.filter])


def decode_selection(key: bytes, scope: str, word: str, now: datetime) -> Selection:
    """Return the selection of a token.

    Raises:
        Rejected: The token belongs to another caller, was altered, or has expired.
    """
    try:
        until_s, count, digest, archived, filter_ = decode_cursor(key, scope, word, FIELD)
    except Rejected:
        raise Rejected(
            "selection_invalid",
            "the selection was altered or belongs to another caller",
            FIELD,
            "get a new one: GET /v1/bulk/experiments",
        ) from None
    expires_at = datetime.fromtimestamp(cast(int, until_s), UTC)
    if expires_at <= now:
        raise Rejected(
            "selection_expired",
            f"the selection expired at {expires_at:%H:%M:%S} UTC",
            FIELD,
            "get a new one: GET /v1/bulk/experiments",
        )
    return Selection(str(filter_), bool(archived), cast(int, count), str(digest), expires_at)
