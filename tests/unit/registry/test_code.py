"""What of a code archive goes into an answer: text as text, and as many files as the bus takes."""

import pytest

from muster.archive import ArchivedFile
from services.registry.code.core import MOST_TEXT_BYTES, fitting, text_of
from shared.messages.files import CodeText, FileEntry

FILE = FileEntry(path="train.py", size_bytes=MOST_TEXT_BYTES, sha256="0" * 64)


@pytest.mark.parametrize(
    ("content", "is_cut", "text"),
    [
        (b"", False, ""),
        (b"a = 1\r\n\tb\n", False, "a = 1\r\n\tb\n"),
        ("ä€😀".encode(), False, "ä€😀"),
        ("ä€😀".encode()[:-1], True, "ä€"),
        ("ä€😀".encode()[:-1], False, None),
        (b"\xff\xfe" + b"text" * 100, True, None),
        (b"text\0", False, None),
        (b"\x1b[31mred\x1b[0m and so much more that is plain", False, "\x1b[31mred\x1b[0m and so much more that is plain"),
        (b"\x1b\x01\x02 abc", False, None),
    ],
    ids=["nothing", "lines", "signs", "torn by the cut", "torn", "no UTF-8", "a zero", "colours", "control signs"],
)  # fmt: skip
def test_text_is_what_reads_as_text(content: bytes, is_cut: bool, text: str | None) -> None:
    assert text_of(content, is_cut) == text


@pytest.mark.parametrize("sign", ['"', "\\", "\n", "é", "\x01" + "a" * 24])
def test_no_text_is_more_than_the_bus_takes(sign: str) -> None:
    content = (sign * MOST_TEXT_BYTES).encode()[:MOST_TEXT_BYTES]
    text = text_of(content, is_cut=True)
    assert text is not None
    assert len(CodeText(file=FILE, text=text, is_cut=True).model_dump_json().encode()) < 500 * 1024


def test_files_are_told_in_pages_that_the_bus_takes() -> None:
    files = [ArchivedFile(f"{number:05d}/{'ä' * 200}", 1, "0" * 64) for number in range(2000)]
    told: list[ArchivedFile] = []
    following: int | None = 0
    pages = 0
    while following is not None:
        page, following = fitting(files, following)
        sizes = [FileEntry(path=f.path, size_bytes=1, sha256=f.sha256).model_dump_json() for f in page]
        assert sum(len(text.encode()) for text in sizes) < 480 * 1024
        told += page
        pages += 1
    assert told == files and pages > 1
    assert fitting([], 0) == ([], None)
