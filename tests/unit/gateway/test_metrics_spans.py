"""How far the trials of an experiment were followed: what is written is read again, and what does not fit is told again and never left out."""

import pytest
from hypothesis import given, strategies as st

from services.gateway.metrics.experiment_positions import (
    MAX_CURSOR_CHARS,
    ExperimentPosition,
    parse_experiment_position,
)
from services.gateway.metrics.positions import BEGIN, StreamPosition
from shared.errors import Rejected

_STEPS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.none()
        | st.builds(
            StreamPosition,
            st.integers(1, 5),
            st.integers(-1, 99),
            st.integers(-5, 10**12),
            st.integers(0, 10**6),
        ),
    ),
    max_size=60,
)


def follow(
    steps: list[tuple[int, StreamPosition | None]],
) -> tuple[ExperimentPosition, set[int], dict[int, StreamPosition]]:
    """As it is noted, and as a plain set and a dictionary have it."""
    spans, done, at = ExperimentPosition(), set[int](), dict[int, StreamPosition]()
    for number, place in steps:
        if number in done:
            continue
        if place is None:
            spans.finish(number)
            done.add(number)
            at.pop(number, None)
        else:
            spans.reach(number, place)
            at[number] = place
    return spans, done, at


@given(_STEPS)
def test_what_is_written_is_read_again(steps: list[tuple[int, StreamPosition | None]]) -> None:
    spans, done, at = follow(steps)
    again = parse_experiment_position(str(spans))
    for one in (spans, again):
        assert {number for number in range(45) if one.is_done(number)} == done
        for number in range(45):
            place, meant = one.of(number), at.get(number, BEGIN)
            assert (place, place.step, place.count) == (meant, meant.step, meant.count)
    assert str(again) == str(spans)


def test_a_search_of_a_thousand_trials_takes_few_characters_and_what_does_not_fit_is_told_again() -> None:
    spans = ExperimentPosition()
    for number in range(1000):
        if number != 17:
            spans.finish(number)
    spans.reach(17, StreamPosition(1, 2, 3, 4))
    assert str(spans) == "0-16,18-999,17:1.2.3.4"
    for number in range(1000, 2000):
        spans.reach(number, StreamPosition(1, 123_456, 123_456, 123_456))
    text = str(spans)
    assert len(text) <= MAX_CURSOR_CHARS
    kept = parse_experiment_position(text)
    assert kept.is_done(999) and kept.of(17) == StreamPosition(1, 2, 3, 4) and kept.of(1999) == BEGIN
    assert set(kept.at) == set(range(1000, 1000 + len(kept.at) - 1)) | {17}


@pytest.mark.parametrize(
    "text", ["", "x", "4-2", "1,1", "1-5,3", "7:", "7:1.2.3", "-1", "1,,2", "9" * 10, "1," * 4000]
)
def test_what_was_never_written_is_refused(text: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse_experiment_position(text)
    assert refused.value.code == "cursor_invalid"
