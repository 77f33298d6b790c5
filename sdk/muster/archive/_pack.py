"""A folder as a deterministic tar.gz: equal trees give equal bytes."""

import fnmatch
import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muster.archive._limits import (
    DEFAULT_LIMITS,
    Limits,
    check_count,
    check_name,
    check_total,
    too_large,
)
from muster.errors import Rejected

IGNORE_FILES = (".musterignore", ".detignore")
ALWAYS_IGNORED = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "*.pyc",
    ".venv",
    ".muster",
    ".DS_Store",
    ".ipynb_checkpoints",
)


@dataclass(frozen=True, slots=True)
class Archive:
    """A packed folder: its bytes, their SHA-256 in hex, and what is inside."""

    content: bytes
    sha256: str
    files: tuple[str, ...]
    unpacked_bytes: int


def pack(folder: Path, limits: Limits = DEFAULT_LIMITS) -> Archive:
    """Pack `folder` so that equal trees give equal bytes: sorted names, no times, no owners, one compression.

    Patterns of `.musterignore` (or `.detignore`) are left out, as are version control and caches. A pattern
    matches a name anywhere, or a path from the folder when it holds a slash; `!` takes it in again.

    Raises:
        Rejected: The folder is missing, holds a link or device, or is over a limit; `place` names the file.
    """
    if not folder.is_dir():
        raise Rejected(
            "code_missing", f"there is no folder {folder}", hint="give the folder of the model code"
        )
    patterns = _load_patterns(folder)
    packed = io.BytesIO()
    files: list[str] = []
    total = 0
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=6, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for count, (name, path, status) in enumerate(_walk(folder, patterns), start=1):
            check_name(name, limits)
            check_count(count, limits)
            if stat.S_ISREG(status.st_mode):
                total += status.st_size
                check_total(total, limits)
                files.append(name)
            _add(tar, name, path, status)
    content = packed.getvalue()
    if len(content) > limits.packed_bytes:
        raise too_large(len(content), limits.packed_bytes, "packed")
    return Archive(content, hashlib.sha256(content).hexdigest(), tuple(files), total)


def _load_patterns(folder: Path) -> tuple[str, ...]:
    for name in IGNORE_FILES:
        if (folder / name).is_file():
            lines = (folder / name).read_text(errors="replace").splitlines()
            kept = (line.strip() for line in lines)
            return ALWAYS_IGNORED + tuple(line for line in kept if line and not line.startswith("#"))
    return ALWAYS_IGNORED


def _walk(
    folder: Path, patterns: tuple[str, ...], prefix: str = ""
) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Entries in the order of their names' code points, a directory before what it holds."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = prefix + entry.name
        status = entry.stat(follow_symlinks=False)
        is_directory = stat.S_ISDIR(status.st_mode)
        if _is_ignored(name, is_directory, patterns):
            continue
        if not is_directory and not stat.S_ISREG(status.st_mode):
            raise Rejected(
                "archive_entry",
                "only regular files and directories can be sent",
                place=name,
                hint="replace the link by a copy, or name it in .musterignore",
            )
        yield name, Path(entry.path), status
        if is_directory:
            yield from _walk(Path(entry.path), patterns, name + "/")


def _is_ignored(name: str, is_directory: bool, patterns: tuple[str, ...]) -> bool:
    ignored = False
    for pattern in patterns:
        taken_in = pattern.startswith("!")
        wanted = pattern.lstrip("!")
        if wanted.endswith("/") and not is_directory:
            continue
        wanted = wanted.strip("/") if "/" not in wanted.rstrip("/") else wanted.rstrip("/").lstrip("/")
        subject = name if "/" in wanted else name.rsplit("/", 1)[-1]
        if fnmatch.fnmatchcase(subject, wanted):
            ignored = not taken_in
    return ignored


def _add(tar: tarfile.TarFile, name: str, path: Path, status: os.stat_result) -> None:
    member = tarfile.TarInfo(name)
    if stat.S_ISDIR(status.st_mode):
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
        return
    member.mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
    member.size = status.st_size
    with path.open("rb") as source:
        try:
            tar.addfile(member, source)
        except OSError as error:
            raise Rejected(
                "code_changed", f"the file changed while it was read: {error}", place=name
            ) from error
