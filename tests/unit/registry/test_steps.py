"""Stretches of steps cover each step once, whatever the chunks are."""

from itertools import pairwise

from hypothesis import given, strategies as st

from services.registry.series.core.steps import EVERY_STEP, part_steps

CHUNKS = st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 20))).map(sorted)


def test_a_long_metric_is_parted_where_chunks_begin() -> None:
    chunks = [(1, 10), (11, 10), (21, 10), (21, 5), (31, 10)]
    assert part_steps(chunks, 20) == [(EVERY_STEP[0], 20), (21, 30), (31, EVERY_STEP[1])]
    assert part_steps([(7, 10)] * 5, 20) == [(EVERY_STEP[0], 6), (7, EVERY_STEP[1])], "a step is never parted"


@given(CHUNKS, st.integers(1, 40))
def test_every_step_is_in_one_stretch(chunks: list[tuple[int, int]], most: int) -> None:
    parted = part_steps(chunks, most)
    assert (parted[0][0], parted[-1][1]) == EVERY_STEP
    assert all(before[1] + 1 == after[0] for before, after in pairwise(parted))
    assert all(first <= last for first, last in parted)
