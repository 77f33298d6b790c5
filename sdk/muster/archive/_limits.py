"""What an archive of code may hold, checked the same way when it is packed, inspected and extracted."""

import tarfile
from dataclasses import dataclass

from muster.errors import Rejected

MIB = 1024 * 1024
MAX_NAME_BYTES = 255
MAX_HEADER_BYTES = 64 * 1024
"""Of one entry beside its content: longer names and attributes than any that is honest would be read into memory whole."""
MAX_HEADERS = 4
"""Before one entry: a long name, a long link, attributes of the entry and of all that follow."""
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may hold. The ratio counts only beyond `ratio_free_bytes`, where it tells a bomb from text."""

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
            "a path must be relative, without '..' and control signs",
            place=abbreviate_name(name),
        )
    try:
        too_long = any(len(part.encode()) > MAX_NAME_BYTES for part in parts) or len(name.encode()) > 1024
    except UnicodeEncodeError:
        raise Rejected("archive_path", "a path must be valid UTF-8", place=abbreviate_name(name)) from None
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
    """`seen` maps a path to whether it is a directory: a file may neither repeat nor stand in a file's place.

    Folders that only paths name stand in it too.
    """
    if name in seen and not (is_directory and seen[name]):
        raise Rejected("archive_entry", "the same path stands twice in the archive", place=name)
    seen[name] = is_directory
    parent = name
    while "/" in parent:
        parent = parent.rsplit("/", 1)[0]
        if not seen.setdefault(parent, True):
            raise Rejected("archive_entry", "a file stands where a folder is needed", place=name)


def abbreviate_name(name: str) -> str:
    """The name as a refusal shows it, whatever it holds and however long it is."""
    return repr(name[:_SHOWN_CHARS])


def check_count(count: int, limits: ArchiveLimits) -> None:
    if count > limits.entries:
        raise Rejected(
            "archive_count",
            f"more than {limits.entries} files and folders",
            hint="name data in .musterignore",
        )


def check_total(total: int, limits: ArchiveLimits) -> None:
    if total > limits.unpacked_bytes:
        raise too_large(total, limits.unpacked_bytes, "unpacked")


def too_large(size: int, limit: int, how: str) -> Rejected:
    return Rejected(
        "code_too_large",
        f"the code is over {limit / MIB:.0f} MiB {how} (at least {size / MIB:.1f} MiB)",
        hint="name data and results in .musterignore",
    )
