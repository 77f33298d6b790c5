"""Output to lines: what a person would have seen."""

import pytest
from hypothesis import given, strategies as st

from worker.core.lines import MAX_LINE_BYTES, clean_line, cut_lines, find_error, guess_level


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b" 10%\r 50%\r100%", "100%"),
        (b"windows\r", "windows"),
        (b"nul\x00", "nul\ufffd"),
        (b"bad \xff", "bad \ufffd"),
        ("grün".encode(), "grün"),
    ],
)
def test_a_line_is_what_a_terminal_shows(raw: bytes, shown: str) -> None:
    assert clean_line(raw) == shown


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=20), st.data())
def test_lines_do_not_depend_on_how_they_arrive(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    expected = cut_lines(whole, is_last=True).lines
    found: list[str] = []
    position, pending = 0, b""
    while position < len(whole):
        size = data.draw(st.integers(1, len(whole) - position))
        pending += whole[position : position + size]
        position += size
        cut = cut_lines(pending, is_last=False)
        found += cut.lines
        pending = pending[cut.consumed :]
    assert tuple(found) == expected
    assert len(expected) == len(lines)


def test_an_unfinished_line_waits_unless_it_is_the_last_or_too_long() -> None:
    assert cut_lines(b"half", is_last=False).lines == ()
    assert cut_lines(b"half", is_last=True).lines == ("half",)
    cut = cut_lines(b"x" * (MAX_LINE_BYTES + 5), is_last=False)
    assert (len(cut.lines), cut.consumed) == (1, MAX_LINE_BYTES)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("2026 ERROR it broke", "error"),
        ("WARNING:root:x", "warning"),
        ("all is well", None),
        ("INFORMATION", None),
    ],
)
def test_levels(text: str, level: str | None) -> None:
    assert guess_level(text) == level


TRACEBACK = b"""before
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero
"""


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (TRACEBACK, "ZeroDivisionError: division by zero"),
        (TRACEBACK + b"muster: waiting\n", "ZeroDivisionError: division by zero"),
        (TRACEBACK.replace(b"by zero", b"by\n  nothing\nat all"), "ZeroDivisionError: division by"),
        (TRACEBACK + TRACEBACK.replace(b"ZeroDivisionError: division by zero", b"Boom"), "Boom"),
        (TRACEBACK[:60], ""),
        (b"Segmentation fault", ""),
        (b"", ""),
    ],
)
def test_the_error_that_an_output_ends_with(output: bytes, error: str) -> None:
    assert find_error(output) == error
