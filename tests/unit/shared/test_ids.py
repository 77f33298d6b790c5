"""Ids: ordered where they begin, the same where they are caused."""

from datetime import UTC, datetime, timedelta
from uuid import uuid5

import pytest
from hypothesis import example, given, strategies as st

from shared.ids import DEFAULT_TENANT, SITE, WorkerId, derived_id, new_id, subject_token


class At:
    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0


@given(st.integers(0, 200 * 365 * 86_400_000), st.integers(1, 10**9))
@example(137_438_953_471, 1)  # as seconds in a float, times a thousand, both are one
def test_an_id_made_later_sorts_later_and_is_a_version_7(since_ms: int, later_ms: int) -> None:
    now = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(milliseconds=since_ms)
    first, second = new_id(At(now)), new_id(At(now + timedelta(milliseconds=later_ms)))
    assert first < second
    assert first.version == second.version == 7
    assert first.variant == "specified in RFC 4122"


def test_ids_of_one_instant_differ() -> None:
    clock = At(datetime(2026, 1, 1, tzinfo=UTC))
    assert len({new_id(clock) for _ in range(1000)}) == 1000


def test_a_cause_names_its_effects() -> None:
    assert derived_id(SITE, "trial", 1) == derived_id(SITE, "trial", 1) == uuid5(SITE, "trial:1")
    effects = {derived_id(SITE, "trial", 1), derived_id(SITE, "trial", 2), derived_id(SITE, "run", 1)}
    assert len(effects | {derived_id(DEFAULT_TENANT, "trial", 1)}) == 4


@pytest.mark.parametrize("name", ["", "a.b", "a*", ">", "a b", "a\n"])
def test_what_would_split_or_widen_a_subject_is_no_worker(name: str) -> None:
    with pytest.raises(ValueError, match="subject"):
        subject_token(WorkerId(name))
