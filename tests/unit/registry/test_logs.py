"""Packed lines are what they were; a search passes by nothing that it should find, whatever the text and the pattern."""

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, strategies as st

from services.registry.logs.core.line_columns import Block, Row, pack, parts_of, text_buffer
from services.registry.logs.core.matching import LineQuery, Matcher, check_pattern
from services.registry.logs.core.ngram_filter import (
    NgramFilter,
    asked_hashes,
    build_filter,
    required_text,
    slice_of,
    slices_with,
)
from services.registry.logs.reader import Found, LogSearch
from shared.errors import Rejected

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SENTENCES = st.lists(st.sampled_from(["shard", "04711", "größe", "abcde", "-", ".", " "]), max_size=8).map(
    "".join
)
LEVELS = [None, "debug", "info", "warning", "error"]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(["stdout", "stderr", "platform"]),
        st.sampled_from(LEVELS),
        st.integers(-(2**63), 2**63 - 1),
        TEXTS,
    ),
    min_size=1,
    max_size=20,
)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_packed_lines_are_what_they_were(chunks: list[list[Row]]) -> None:
    blocks, first = [], 5
    for run, rows in enumerate(chunks):
        blocks.append(Block.of(first, run, rows))
        first += len(rows)
    packed = pack(blocks)
    about = packed.about
    found = [part.block() for part in parts_of(5, packed.content)]
    lines = [line for block in found for line in block.lines(range(len(block)))]
    wanted = [(run, *row) for run, rows in enumerate(chunks) for row in rows]
    assert [(one.run, one.rank, one.stream, one.level, one.time_ms, one.text) for one in lines] == wanted
    assert [line.number for line in lines] == list(range(5, first))
    assert (about.lines, about.runs) == (len(lines), tuple(range(len(chunks))))


def test_a_search_stops_within_an_object_and_goes_on_there() -> None:
    rows: list[Row] = [(0, "stdout", None, 1, f"{number} " + "x" * 3000) for number in range(1, 2001)]
    parts = parts_of(1, pack([Block.of(1, 1, rows)]).content)
    upto, found, pages = 0, list[int](), 0
    while upto < 2000:
        here = Found(LogSearch(Matcher(LineQuery(pattern="7 x")), 1000, lambda: True), upto)
        part = next(part for part in parts if part.first > upto)
        assert here.look_through(part.first, part.texts(), part.block)
        assert upto < here.upto < upto + 1000
        upto, pages = here.upto, pages + 1
        found += [line.number for line in here.lines]
    assert found == [number for number in range(1, 2001) if number % 10 == 7]
    assert pages > 3


def test_a_pack_has_parts_of_its_lines() -> None:
    rows: list[Row] = [(0, "stdout", None, 1, f"{number} " + "x" * 3000) for number in range(1000)]
    found = parts_of(1, pack([Block.of(1, 1, rows)]).content)
    assert len(found) > 1
    assert [part.texts()[0].as_py().split()[0] for part in found] == [str(part.first - 1) for part in found]


@given(st.lists(st.lists(TEXTS | SENTENCES, min_size=1), min_size=1, max_size=20), st.data())
def test_what_is_in_a_text_is_never_passed_by(parts: list[list[str]], data: st.DataObject) -> None:
    part = data.draw(st.integers(0, len(parts) - 1))
    text = data.draw(st.sampled_from(parts[part]))
    begin = data.draw(st.integers(0, len(text)))
    wanted = text[begin : data.draw(st.integers(begin, len(text)))]
    grams = build_filter([text_buffer(pa.array(texts)).to_pybytes() for texts in parts])
    assert slices_of_text(grams, wanted) >> slice_of(part, len(parts), grams.slices) & 1
    found = Matcher(LineQuery(text=wanted)).matching_indices(
        pa.array(parts[part]), lambda: pytest.fail("no column is asked for")
    )
    assert list(found) == [place for place, one in enumerate(parts[part]) if wanted in one]


@given(
    st.lists(st.sampled_from(["", "a", "ab", "ba", "aab", "größe ab"]), max_size=40),
    st.sampled_from(["a", "ab", "ba", "aa", "öß", "abab"]),
)
def test_a_text_is_found_within_lines_and_never_across_them(lines: list[str], text: str) -> None:
    found = Matcher(LineQuery(text=text)).matching_indices(
        pa.array(lines, pa.string()), lambda: pytest.fail("not asked")
    )
    assert list(found) == [place for place, line in enumerate(lines) if text in line]


def slices_of_text(grams: NgramFilter, text: str) -> int:
    """The slices that a search for a text looks through, by the bytes that Postgres would give of the filter."""
    hashes, width = asked_hashes(text), max(1, grams.slices // 8)
    begins = [(each >> (32 - grams.bits)) * grams.slices >> 3 for each in hashes]
    filter_bytes = [grams.filter[begin : begin + width] for begin in begins]
    return slices_with(hashes, filter_bytes, grams.bits, grams.slices)


def test_what_is_not_in_a_part_is_passed_by() -> None:
    parts = [
        b"".join(b"step %d loss=%.6f " % (step, step * 0.37) for step in range(begin, begin + 10_000))
        for begin in range(0, 50_000, 10_000)
    ]
    grams = build_filter(parts)
    assert slices_of_text(grams, "step 34711 ") == 0b1000
    assert slices_of_text(grams, "loss=17390.74") == 0b10000
    assert slices_of_text(grams, "loss=") == 0b11111111 >> 3
    for absent in ("CUDA out of memory", "81649260017", "id=3fa4b1c2d3e4f506"):
        assert slices_of_text(grams, absent) == 0
    assert len(grams.filter) < sum(map(len, parts)) / 8


PATTERNS = st.lists(
    st.sampled_from(
        ["abcd", "b", "c+", "d?", "(ab)?", "(a|b)", "[ab]", "[^]a]", ".", ".*", "\\d", "\\x41", "\\101", "x{0,2}", "y{2}", "\\Qab\\E",
         "(?i)b", "^", "$", "\\bab", "{ab}", "a*?b", "\\.c", "\\pLd"]
    ),
    min_size=1,
    max_size=6,
).map("".join)  # fmt: skip


@given(PATTERNS, st.text("abcdAxy.{}1", max_size=12))
def test_each_line_with_a_pattern_has_its_required_text(pattern: str, line: str) -> None:
    try:
        found = pc.match_substring_regex(pa.array([line]), pattern)[0].as_py()
    except pa.ArrowInvalid:
        assume(False)
    assert not found or required_text(pattern) in line


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"loss=\d+ at", "loss="),
        (r"^Error: [ab]", "Error: "),
        (r"ab+cde", "cde"),
        (r"a|b", ""),
        (r"\d{4}", ""),
    ],
)
def test_a_pattern_is_looked_up_by_its_longest_text(pattern: str, text: str) -> None:
    assert required_text(pattern) == text


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [
        (LineQuery(text="a.b"), [0]),
        (LineQuery(pattern="a.b"), [0, 1]),
        (LineQuery(pattern="a.b", text="x"), [1]),
        (LineQuery(level="warning"), [1, 2]),
        (LineQuery(rank=1), [1, 3]),
        (LineQuery(stream="stderr"), [2]),
        (LineQuery(since_ms=2, until_ms=4), [1, 2]),
        (LineQuery(run=2), []),
        (LineQuery(), [0, 1, 2, 3]),
    ],
)
def test_lines_are_chosen_by_all_that_is_wanted(wanted: LineQuery, indices: list[int]) -> None:
    block = Block.of(
        1,
        1,
        [
            (0, "stdout", None, 1, "a.b"),
            (1, "stdout", "warning", 2, "axb"),
            (0, "stderr", "error", 3, "c"),
            (1, "stdout", "info", 4, ""),
        ],
    )
    assert list(Matcher(wanted).matching_indices(block.texts, lambda: block)) == indices


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("(a{20}){20}", "pattern_too_large"),
        ("x" * 501, "pattern_too_large"),
        ("a(", "pattern_invalid"),
        (r"(a)\1", "pattern_invalid"),
        ("(?<=a)b", "pattern_invalid"),
    ],
)
def test_a_pattern_that_is_none_or_costs_too_much_is_refused(pattern: str, code: str) -> None:
    with pytest.raises(Rejected, match=re.escape("pattern")) as refused:
        check_pattern(pattern)
    assert refused.value.code == code
