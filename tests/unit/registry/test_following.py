"""Following what a trial reports: whole records, in order, none twice, and none left out where steps go back."""

from hypothesis import given, strategies as st

from services.registry.series.core.chunks import Columns
from services.registry.series.core.report_cursor import (
    ReadPosition,
    Reported,
    choose_new,
    has_missed,
    recount,
)
from tests.support.points import Row, arrived

Record = tuple[int, int, dict[str, float]]
"""Run, step, values."""


def series_of(records: list[Record], from_run: int = 0, from_step: int = -(2**63)) -> list[Reported]:
    """As the store reads them: of the first run what lies from a step on."""
    points: dict[tuple[int, str], list[Row]] = {}
    for seq, (run, step, values) in enumerate(records, 1):
        for name, value in values.items():
            points.setdefault((run, name), []).append((seq, step, 1_000 + seq, value))
    return [
        Reported(
            run,
            "training",
            name,
            len(several),
            Columns.of(arrived(point for point in several if run > from_run or point[1] >= from_step)),
        )
        for (run, name), several in points.items()
        if run >= from_run
    ]


def follow(records: list[Record], limit: int, place: ReadPosition) -> list[tuple[int, int, str, float]]:
    """All that is told behind a place, page by page, as the service reads it."""
    found: list[tuple[int, int, str, float]] = []
    while True:
        read = series_of(records, place.run, place.step)
        if has_missed(read, place):
            read = series_of(records, place.run)
            place = recount(read, place)
        new, place, is_last = choose_new(read, place, limit)
        found += [(one.run, one.record, one.name, one.value) for one in new]
        if is_last:
            return found


_RECORDS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.integers(-3, 5),
        st.dictionaries(st.sampled_from("abc"), st.floats(0, 1), min_size=1),
    ),
    max_size=20,
).map(lambda records: sorted(records, key=lambda record: record[0]))


@given(_RECORDS, st.integers(1, 4), st.integers(0, 20))
def test_everything_is_told_once_and_in_order_however_it_comes_in(
    records: list[Record], limit: int, seen: int
) -> None:
    whole = [
        (run, seq, name, value)
        for seq, (run, _, values) in enumerate(records, 1)
        for name, value in sorted(values.items())
    ]
    assert follow(records, limit, ReadPosition()) == whole
    early = records[:seen]
    _, place, _ = choose_new(series_of(early), ReadPosition(), 10_000)
    assert follow(records, limit, place) == [one for one in whole if one[1] > len(early)]


def test_a_record_is_told_whole() -> None:
    records: list[Record] = [(1, 1, {"a": 1.0, "b": 2.0, "c": 3.0}), (1, 2, {"a": 4.0})]
    new, place, is_last = choose_new(series_of(records), ReadPosition(), 2)
    assert ([one.name for one in new], place, is_last) == (["a", "b", "c"], ReadPosition(1, 1, 1, 3), False)


def test_a_step_that_went_back_is_missed_and_found() -> None:
    records: list[Record] = [(1, 7, {"a": 1.0}), (1, 2, {"a": 2.0})]
    behind_first = ReadPosition(1, 1, 7, 1)
    assert has_missed(series_of(records, 1, 7), behind_first)
    assert not has_missed(series_of(records[:1], 1, 7), behind_first)
    assert follow(records, 10, behind_first) == [(1, 2, "a", 2.0)]
