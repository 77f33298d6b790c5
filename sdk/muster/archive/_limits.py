"""Limits of code archives, checked in the same way on packing, inspection and extraction."""

import tarfile
from dataclasses import dataclass

from muster.errors import Rejected

MIB = 1024 * 1024
MAX_NAME_BYTES = 255
MAX_HEADER_BYTES = 64 * 1024
"""Maximum header of one entry: names and attributes are read into memory."""
MAX_HEADERS = 4
"""Maximum headers before one entry: a long name, a long link, attributes of the entry, and global attributes."""
_MAX_PRINTED_CHARS = 80


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of an archive. The ratio applies only beyond `ratio_free_bytes`, to tell archive bombs from text."""

    packed_bytes: int = 96 * MIB
    unpacked_bytes: int = 512 * MIB
    entries: int = 20_000
    depth: int = 32
    ratio: int = 200
    ratio_free_bytes: int = 4 * MIB


DEFAULT_LIMITS = ArchiveLimits()


def check_name(name: str, limits: ArchiveLimits) -> None:
    parts = name.split("/")
    bad = (
        not name
        or name.startswith("/")
        or "\\" in name
        or "\0" in name
        or any(ord(sign) < 32 for sign in name)
        or any(part in ("", ".", "..") for part in parts)
    )
    if bad:
        raise Rejected(
            "archive_path",
            "paths must be relative, without '..' and control characters",
            place=abbreviate_name(name),
        )
    try:
        too_long = any(len(part.encode()) > MAX_NAME_BYTES for part in parts) or len(name.encode()) > 1024
    except UnicodeEncodeError:
        raise Rejected("archive_path", "paths must be valid UTF-8", place=abbreviate_name(name)) from None
    if too_long:
        raise Rejected("archive_path", f"a name is longer than {MAX_NAME_BYTES} bytes", place=name[:80])
    if len(parts) > limits.depth:
        raise Rejected("archive_depth", f"folders are nested deeper than {limits.depth}", place=name[:80])


def check_kind(member: tarfile.TarInfo) -> None:
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)
    if not plain or member.issparse():
        raise Rejected(
            "archive_entry", "only regular files and directories are allowed, no links", place=member.name
        )


def check_unique(name: str, is_directory: bool, seen: dict[str, bool]) -> None:
    """Refuse repeated paths and files in place of folders; `seen` maps paths to whether they are directories.

    Folders that occur only in paths are included.
    """
    if name in seen and not (is_directory and seen[name]):
        raise Rejected("archive_entry", "the archive contains this path twice", place=name)
    seen[name] = is_directory
    parent = name
    while "/" in parent:
        parent = parent.rsplit("/", 1)[0]
        if not seen.setdefault(parent, True):
            raise Rejected(
                "archive_entry", "the archive contains a file in place of this path's folder", place=name
            )


def abbreviate_name(name: str) -> str:
    """Abbreviate a name for an error message."""
    return repr(name[:_MAX_PRINTED_CHARS])


def check_count(count: int, limits: ArchiveLimits) -> None:
    if count > limits.entries:
        raise Rejected(
            "archive_count",
            f"more than {limits.entries} files and folders",
            hint="list data in .musterignore",
        )


def check_total(total: int, limits: ArchiveLimits) -> None:
    if total > limits.unpacked_bytes:
        raise too_large(total, limits.unpacked_bytes, "unpacked")


def too_large(size: int, limit: int, how: str) -> Rejected:
    return Rejected(
        "code_too_large",
        f"the code is over {limit / MIB:.0f} MiB {how} (at least {size / MIB:.1f} MiB)",
        hint="list data and results in .musterignore",
    )
