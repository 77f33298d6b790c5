"""The mark of a source: nothing stored twice, nothing skipped, whatever is sent again."""

import pytest
from hypothesis import given, strategies as st

from services.registry.core.marks import (
    Span,
    Verdict,
    advance,
    has_reached,
    judge_batch,
)


@pytest.mark.parametrize(
    ("next_record", "first", "last", "verdict", "after"),
    [
        (1, 1, 5, Verdict.accept, 6),
        (6, 6, 6, Verdict.accept, 7),
        (6, 1, 5, Verdict.repeat, 6),
        (6, 4, 9, Verdict.repeat, 6),
        (6, 7, 9, Verdict.gap, 6),
        (1, 2, 2, Verdict.gap, 1),
    ],
)
def test_a_batch_is_taken_at_the_mark_only(
    next_record: int, first: int, last: int, verdict: Verdict, after: int
) -> None:
    assert judge_batch(next_record, Span(first, last)) is verdict
    assert advance(next_record, Span(first, last)) == after


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 2), (-1, -1)])
def test_a_span_that_counts_wrongly_is_refused(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="no span"):
        Span(first, last)


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6))), st.integers(1, 12))
def test_any_sequence_of_batches_stores_each_record_once_and_in_order(
    sent: list[tuple[int, int]], record: int
) -> None:
    next_record, stored = 1, list[int]()
    for first, more in sent:
        span = Span(first, first + more)
        if judge_batch(next_record, span) is Verdict.accept:
            stored.extend(range(span.first, span.last + 1))
        next_record = advance(next_record, span)
    assert stored == list(range(1, next_record))
    assert has_reached(next_record, record) == (record in stored)
