"""What of a code archive goes into an answer."""

from collections.abc import Sequence

from muster.archive import ArchivedFile

MOST_TEXT_BYTES = 192 * 1024
"""Of one file. As JSON it can be twice as long, and the bus takes 512 KiB."""
_FILES_BYTES = 300 * 1024
_BESIDE_PATH_BYTES = 128
"""A file's hash, its size and the names of the fields."""
_STRANGE_SHARE = 0.05
"""Coloured logs have some control signs, and what has more than these is no text (and would be six times as long as JSON)."""
_USUAL = frozenset("\t\n\f\r")


def fitting(files: Sequence[ArchivedFile], first: int) -> tuple[Sequence[ArchivedFile], int | None]:
    """The files from the `first` on that one answer holds, and where to go on; None at the end."""
    size = 0
    for place, file in enumerate(files[first:], first):
        size += _BESIDE_PATH_BYTES + 2 * len(file.path.encode())
        if size > _FILES_BYTES and place > first:
            return files[first:place], place
    return files[first:], None


def text_of(content: bytes, is_cut: bool) -> str | None:
    """What the bytes say as UTF-8; None where they are no text. A sign that the cut went through is left out."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        is_torn = is_cut and error.end == len(content) and len(content) - error.start < 4
        if not is_torn:
            return None
        text = content[: error.start].decode()
    strange = sum(sign < " " and sign not in _USUAL for sign in text)
    return None if "\0" in text or strange > _STRANGE_SHARE * len(text) else text
