"""List the files of an archive with their hashes, and read the beginning of one file, without extracting it."""

import hashlib
from dataclasses import dataclass
from typing import IO

from muster.archive._limits import DEFAULT_LIMITS, ArchiveLimits
from muster.archive._unpack import CHUNK, EntryContent, members
from muster.errors import NotFound


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file of an archive; its path is relative, with forward slashes."""

    path: str
    size_bytes: int
    sha256: str


def list_files(packed: IO[bytes], limits: ArchiveLimits = DEFAULT_LIMITS) -> tuple[ArchivedFile, ...]:
    """Return the files of an archive in its order; each is read for its hash.

    Raises:
        Rejected: As for `inspect`.
    """
    found = ((name, content) for name, content in members(packed, limits) if content is not None)
    return tuple(_read(name, content, 0)[0] for name, content in found)


def read_file(
    packed: IO[bytes], path: str, most_bytes: int, limits: ArchiveLimits = DEFAULT_LIMITS
) -> tuple[ArchivedFile, bytes]:
    """Return one file and its first `most_bytes`; the rest of the archive is not read.

    Raises:
        NotFound: No file has this path.
        Rejected: As for `inspect`.
    """
    for name, content in members(packed, limits):
        if name == path and content is not None:
            return _read(name, content, most_bytes)
    raise NotFound(f"the file {path!r} in the code")


def _read(name: str, content: EntryContent, most_bytes: int) -> tuple[ArchivedFile, bytes]:
    digest, size, kept = hashlib.sha256(), 0, bytearray()
    while chunk := content.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        kept += chunk[: most_bytes - len(kept)]
    return ArchivedFile(name, size, digest.hexdigest()), bytes(kept)
