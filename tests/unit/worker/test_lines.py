"""Output to lines: what a person would have seen."""

import pytest
from hypothesis import given, strategies as st

from worker.core.line_splitter import MAX_LINE_BYTES, LineWaits, cut_lines, find_error, guess_level


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;a title\x07prompt\x1b(B", "prompt"),
        (b"\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"5/8\x08\x08\x08", "5/8"),
        (b" 10%\r 50%\r100%", "100%"),
        (b"\r 10%\r     \rnext", "next"),
        (b"100%\r     ", "100%"),
        (b"windows\r", "windows"),
        (b"nul\x00", "nul\ufffd"),
        (b"bad \xff", "bad \ufffd"),
        ("grün".encode(), "grün"),
    ],
)
def test_a_line_is_what_a_terminal_shows(raw: bytes, shown: str) -> None:
    assert cut_lines(raw + b"\n", is_last=False).lines == (shown,)
    assert cut_lines(raw, is_last=True).lines == (shown,)


@given(
    st.lists(
        st.binary(max_size=40).filter(lambda line: b"\n" not in line and b"\x1b" not in line), max_size=20
    ),
    st.data(),
)
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
    assert cut_lines(b"half", is_last=False, waits=LineWaits(waits_for_end=False)).lines == ("half",)


def test_no_character_is_cut_in_a_line_that_is_too_long() -> None:
    text = "x" * (MAX_LINE_BYTES - 1) + "ü" * 9
    found, data = "", text.encode()
    while data:
        cut = cut_lines(data, is_last=len(data) <= MAX_LINE_BYTES)
        found, data = found + "".join(cut.lines), data[cut.consumed :]
    assert found == text


BAR = b"\r 10%|#   |\r 50%|##  |\r 90%|### |"


def test_a_progress_bar_waits_with_its_newest_state_only() -> None:
    cut = cut_lines(b"begin\n" + BAR, is_last=False)
    assert cut.lines == ("begin",)
    rest = (b"begin\n" + BAR)[cut.consumed :]
    assert cut_lines(rest + b"\r100%|####|\n", is_last=False).lines == ("100%|####|",)
    assert cut_lines(rest, is_last=True).lines == (" 90%|### |",)


def test_a_progress_bar_shows_its_state_when_that_is_due() -> None:
    cut = cut_lines(BAR, is_last=False, waits=LineWaits(waits_for_state=False))
    assert (cut.lines, cut.is_open) == ((" 50%|##  |",), True)
    rest = BAR[cut.consumed :]
    assert cut_lines(rest, is_last=True).lines == (" 90%|### |",)


def test_bars_below_each_other_are_folded_as_one() -> None:
    inner = b"".join(b"\n\r batch %d\x1b[A" % number for number in range(50))
    data = b"\repoch 1" + inner + b"\n\repoch 2\n"
    assert cut_lines(data, is_last=False).lines == ("epoch 1", "epoch 2")


def test_what_is_written_over_with_blanks_without_end_is_not_kept_for_ever() -> None:
    data = b"10%\r" + (b" " * 80 + b"\r") * 400
    assert cut_lines(data, is_last=False).consumed > 0


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
        (b"muster: can't open file 'x.py': No such file\n", "muster: can't open file 'x.py': No such file"),
        (b"sh: 1: ./x: not found\n", "sh: 1: ./x: not found"),
        (b"the cache was not found\n", ""),
    ],
)
def test_the_error_that_an_output_ends_with(output: bytes, error: str) -> None:
    assert find_error(output) == error
