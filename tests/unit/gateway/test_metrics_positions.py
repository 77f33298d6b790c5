"""Cursors of followed points: whoever comes back with any of them misses nothing."""

import pytest
from hypothesis import given, strategies as st

from services.gateway.metrics.positions import (
    BEGIN,
    StreamPosition,
    from_reported,
    parse_position,
    to_reported,
    with_positions,
)
from shared.errors import Rejected
from shared.messages.metrics import ReportedPoint

_POINTS = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 4), st.integers(-5, 5)), max_size=12).map(
    lambda rows: [
        ReportedPoint(run_number=run, record=record, group="g", name=str(at), step=step, time_ms=0, value=0.0)
        for at, (run, record, step) in enumerate(sorted(rows, key=lambda row: row[:2]))
    ]
)


@given(_POINTS)
def test_from_any_points_cursor_all_that_came_behind_it_is_told(points: list[ReportedPoint]) -> None:
    told = list(with_positions(points, BEGIN))
    assert [point for point, _, _ in told] == points
    for index, (point, here, go_on) in enumerate(told):
        assert (here.run, here.record) == (point.run_number, point.record)
        place = parse_position(str(go_on))
        again = [one for one in points if (one.run_number, one.record) > (place.run, place.record)]
        assert {one.name for one in points[index + 1 :]} <= {one.name for one in again}
        if index + 1 == len(told) or told[index + 1][1] != here:
            assert place == here and point not in again
            own = [one for one in points[: index + 1] if one.run_number == here.run]
            assert (place.step, place.count) == (max(one.step for one in own), len(own))


@given(
    st.builds(
        StreamPosition,
        st.integers(0, 10**8),
        st.integers(-1, 10**17),
        st.integers(-(2**62), 2**62),
        st.integers(0, 10**17),
    )
)
def test_a_place_is_read_as_it_was_written(place: StreamPosition) -> None:
    found = parse_position(str(place))
    assert (found, found.step, found.count) == (place, place.step, place.count)
    assert from_reported(to_reported(place)) == place and str(parse_position(str(BEGIN))) == str(BEGIN)


@pytest.mark.parametrize("text", ["", "1", "1.2.3", "1.2.3.4.5", "1.2.x.4", "-1.2.3.4", "1.2.3.4 ", "9" * 40])
def test_another_text_is_no_cursor(text: str) -> None:
    with pytest.raises(Rejected, match="not the cursor of a reported value"):
        parse_position(text)
