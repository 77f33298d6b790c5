"""Read archives within limits, and extract them only through descriptors that follow no links."""

import gzip
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from muster.archive._limits import (
    DEFAULT_LIMITS,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    ArchiveLimits,
    check_count,
    check_kind,
    check_name,
    check_total,
    check_unique,
    too_large,
)
from muster.errors import Rejected

CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of an archive that passed all checks."""

    files: tuple[str, ...]
    directories: tuple[str, ...]
    unpacked_bytes: int


def inspect(packed: IO[bytes], limits: ArchiveLimits = DEFAULT_LIMITS) -> Contents:
    """Read an archive to its end without writing anything.

    Raises:
        Rejected: It is not a tar.gz, contains a disallowed entry, or exceeds a limit; `place` names the entry.
    """
    files, directories, total = [], [], 0
    for member, content in members(packed, limits):
        if content is None:
            directories.append(member)
            continue
        files.append(member)
        while chunk := content.read(CHUNK):
            total += len(chunk)
    return Contents(tuple(files), tuple(directories), total)


def extract(packed: IO[bytes], directory: Path, limits: ArchiveLimits = DEFAULT_LIMITS) -> Contents:
    """Extract an archive into `directory`, which must exist and be empty, through descriptors that follow no links.

    Files get mode 0644 or 0755, directories 0755. After an error the directory may be incomplete: delete it.

    Raises:
        Rejected: As for `inspect`; `code_not_empty` if the directory is not empty.
    """
    root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if next(os.scandir(root), None) is not None:
            raise Rejected("code_not_empty", f"{directory} is not empty")
        files, directories, total = [], [], 0
        for member, content in members(packed, limits):
            if content is None:
                os.close(_open_directory(root, member))
                directories.append(member)
                continue
            files.append(member)
            total += _write_file(root, member, content)
        return Contents(tuple(files), tuple(directories), total)
    finally:
        os.close(root)


class EntryContent:
    """The bytes of one member and its file mode."""

    def __init__(self, source: IO[bytes], executable: bool) -> None:
        self.read = source.read
        self.mode = 0o755 if executable else 0o644


class _Counting(io.RawIOBase):
    """Decompressed bytes, counted against the limits while reading; headers count too."""

    def __init__(self, packed: IO[bytes], limits: ArchiveLimits) -> None:
        self._packed = _Measured(packed, limits.packed_bytes)
        self._source = gzip.GzipFile(fileobj=self._packed, mode="rb")
        self._limits = limits
        self._count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._source.read(CHUNK if size < 0 else min(size, CHUNK))
        self._count += len(data)
        # Allow for headers and the padding to 512 bytes per entry.
        allowed = self._limits.unpacked_bytes + 2048 * self._limits.entries
        if self._count > allowed:
            raise too_large(self._count, self._limits.unpacked_bytes, "unpacked")
        self._check_ratio()
        return data

    def _check_ratio(self) -> None:
        limits = self._limits
        if self._count > limits.ratio_free_bytes and self._count > limits.ratio * max(1, self._packed.count):
            raise Rejected(
                "archive_ratio", f"the archive expands more than {limits.ratio} times when it is unpacked"
            )


class _Measured(io.RawIOBase):
    def __init__(self, source: IO[bytes], limit: int) -> None:
        self._packed = source
        self._limit = limit
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._packed.read(size)
        self.count += len(data)
        if self.count > self._limit:
            raise too_large(self.count, self._limit, "packed")
        return data


class _Entry(tarfile.TarInfo):
    """A tar entry that is refused by its header if it is not allowed.

    tarfile reads names, attributes and sparse maps into memory completely, and recurses for the next header.
    """

    _SPECIAL = (
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    )

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        """Check each header; this is tarfile's hook for subclasses."""
        headers = getattr(tar, "headers_in_a_row", 0) + 1 if self.type in self._SPECIAL else 0
        tar.headers_in_a_row = headers  # type: ignore[attr-defined]
        if headers == 0:
            check_kind(self)
        elif self.size > MAX_HEADER_BYTES or headers > MAX_HEADERS:
            raise Rejected("archive_entry", "the attributes of an entry are too large")
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]

    def _refuse_holes(self, *_: object) -> None:
        raise Rejected("archive_entry", "sparse files are not allowed")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_holes


def members(packed: IO[bytes], limits: ArchiveLimits) -> Iterator[tuple[str, EntryContent | None]]:
    """Yield validated names in archive order; each content is valid until the next one. Errors carry the entry as place."""
    seen: dict[str, bool] = {}
    total = 0
    try:
        source = _Counting(packed, limits)
        with tarfile.open(fileobj=source, mode="r|", bufsize=64 * 1024, tarinfo=_Entry) as tar:
            for count, member in enumerate(tar, start=1):
                check_count(count, limits)
                name = member.name.rstrip("/") if member.isdir() else member.name
                check_name(name, limits)
                check_unique(name, member.isdir(), seen)
                check_count(len(seen), limits)
                if member.isdir():
                    yield name, None
                    continue
                total += member.size
                check_total(total, limits)
                content = tar.extractfile(member)
                if content is None:
                    raise Rejected(
                        "archive_entry", "only regular files and directories are allowed", place=name
                    )
                yield name, EntryContent(content, bool(member.mode & stat.S_IXUSR))
                # Drop read members: the list would grow with the archive.
                tar.members = []  # type: ignore[attr-defined]
    except (tarfile.TarError, EOFError, OSError, ValueError, UnicodeError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Rejected("archive_broken", f"this is not a complete tar.gz archive: {error}") from error
    except Exception as error:  # zlib.error has no public base class but Exception
        if type(error).__module__ == "zlib":
            raise Rejected("archive_broken", f"this is not a complete tar.gz archive: {error}") from error
        raise


def _open_directory(root: int, path: str) -> int:
    """Open or create the directory `path` below `root` without following links; return its descriptor."""
    current = os.dup(root)
    for part in path.split("/") if path else ():
        try:
            os.mkdir(part, 0o755, dir_fd=current)
        except FileExistsError:
            pass
        except OSError:
            os.close(current)
            raise
        try:
            following = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


def _write_file(root: int, path: str, content: EntryContent) -> int:
    folder, _, name = path.rpartition("/")
    parent = _open_directory(root, folder)
    written = 0
    try:
        descriptor = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, content.mode, dir_fd=parent
        )
        with os.fdopen(descriptor, "wb") as target:
            while chunk := content.read(CHUNK):
                written += target.write(chunk)
            os.fchmod(target.fileno(), content.mode)
    finally:
        os.close(parent)
    return written
