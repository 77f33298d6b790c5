"""The word for what a filter met: another caller's, a changed one and an old one are refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from services.gateway.bulk_actions.selection_tokens import (
    LIFETIME,
    Selection,
    decode_selection,
    digest_of,
    encode_selection,
)
from shared.errors import Rejected

KEY = b"k" * 32
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
IDS = [UUID(int=one) for one in (3, 1, 2)]
SEEN = Selection("state = paused", False, 3, digest_of(IDS), NOW + LIFETIME)


def test_a_selection_says_what_was_seen() -> None:
    word = encode_selection(KEY, "acme:ada", SEEN)
    assert decode_selection(KEY, "acme:ada", word, NOW) == SEEN
    assert digest_of(reversed(IDS)) == SEEN.digest != digest_of(IDS[:2])


def test_one_that_is_not_ones_own_is_no_selection() -> None:
    word = encode_selection(KEY, "acme:ada", SEEN)
    wider = encode_selection(b"x" * 32, "acme:ada", replace(SEEN, filter="number > 0"))
    for scope, given in (
        ("acme:bob", word),
        ("acme:ada", wider),
        ("acme:ada", word[:-2] + "AA"),
        ("acme:ada", "é"),
    ):
        with pytest.raises(Rejected) as refused:
            decode_selection(KEY, scope, given, NOW)
        assert refused.value.code == "selection_invalid"


def test_an_old_one_is_looked_at_again() -> None:
    word = encode_selection(KEY, "acme:ada", SEEN)
    with pytest.raises(Rejected, match="12:10:00 UTC"):
        decode_selection(KEY, "acme:ada", word, NOW + LIFETIME)
    assert decode_selection(KEY, "acme:ada", word, NOW + LIFETIME - timedelta(seconds=1)) == SEEN
