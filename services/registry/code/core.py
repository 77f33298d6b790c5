"""Which part of a code archive goes into a reply."""

from collections.abc import Sequence

from muster.archive import ArchivedFile

MOST_TEXT_BYTES = 192 * 1024
"""Of one file. As JSON it can be twice as long, and the bus allows 512 KiB."""
_FILES_BYTES = 300 * 1024
_BESIDE_PATH_BYTES = 128
"""Size of a file's hash, size and field names."""
_STRANGE_SHARE = 0.05
"""Maximum share of control characters in a text. Coloured logs have some; binary data has more, and would be six times as long in JSON."""
_USUAL = frozenset("\t\n\f\r")


def fitting(files: Sequence[ArchivedFile], first: int) -> tuple[Sequence[ArchivedFile], int | None]:
    """Return the files from `first` on that fit into a reply, and the index to continue from; None at the end."""
    size = 0
    for index, file in enumerate(files[first:], first):
        size += _BESIDE_PATH_BYTES + 2 * len(file.path.encode())
        if size > _FILES_BYTES and index > first:
            return files[first:index], index
    return files[first:], None


def text_of(content: bytes, is_cut: bool) -> str | None:
    """Return the bytes decoded as UTF-8; None if they are not text. A character split by the cut is left out."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        is_torn = is_cut and error.end == len(content) and len(content) - error.start < 4
        if not is_torn:
            return None
        text = content[: error.start].decode()
    strange = sum(sign < " " and sign not in _USUAL for sign in text)
    return None if "\0" in text or strange > _STRANGE_SHARE * len(text) else text
