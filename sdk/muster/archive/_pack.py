"""Pack a folder as a deterministic tar.gz: equal trees give equal bytes."""

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from muster.archive._ignore import (
    GIT_IGNORE,
    IGNORE_FILES,
    Reason,
    Rule,
    deciding_rule,
    is_private,
    read_rules,
    usual_rules,
)
from muster.archive._limits import (
    DEFAULT_LIMITS,
    ArchiveLimits,
    check_count,
    check_name,
    check_total,
    too_large,
)
from muster.errors import Rejected


@dataclass(frozen=True, slots=True)
class Archive:
    """A packed folder: its bytes, their SHA-256 in hex, and its contents.

    Attributes:
        largest: Path and size of the largest file; None if there is no file.
        secrets: Entries left out because they look like secrets, histories or browser profiles; folders end with a slash.
        ignored: Entries left out by an ignore file.
        ignore_file: Name of the ignore file that was used; None if there is none.
    """

    content: bytes
    sha256: str
    files: tuple[str, ...]
    unpacked_bytes: int
    largest: tuple[str, int] | None = None
    secrets: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ignore_file: str | None = None


def pack(folder: Path, limits: ArchiveLimits = DEFAULT_LIMITS) -> Archive:
    """Pack `folder` deterministically: sorted names, no times, no owners, fixed compression.

    Version control, caches, likely secrets (`.env`, keys, credentials, browser profiles) and files named in `.musterignore` (or
    `.detignore`; without either, the `.gitignore` of each folder) are left out. Patterns use `.gitignore` syntax; `!` includes a
    file again, in `.musterignore` and `.detignore` even a likely secret.

    Raises:
        Rejected: The folder is missing, contains a link or device, or exceeds a limit; `place` names the file.
    """
    if not folder.is_dir():
        raise Rejected(
            "code_missing", f"the folder {folder} does not exist", hint="name the folder of the model code"
        )
    walk = _Walk.of(folder)
    packed = io.BytesIO()
    sizes: dict[str, int] = {}
    total = 0
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=6, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for count, (name, path, status) in enumerate(walk.entries(folder), start=1):
            check_name(name, limits)
            check_count(count, limits)
            if stat.S_ISREG(status.st_mode):
                total += status.st_size
                check_total(total, limits)
                sizes[name] = status.st_size
            _add(tar, name, path, status)
    content = packed.getvalue()
    if len(content) > limits.packed_bytes:
        raise too_large(len(content), limits.packed_bytes, "packed")
    return Archive(
        content,
        hashlib.sha256(content).hexdigest(),
        tuple(sizes),
        total,
        largest=max(sizes.items(), key=lambda one: one[1], default=None),
        secrets=tuple(walk.out["secret"]),
        ignored=tuple(walk.out["file"]),
        ignore_file=walk.ignore_file,
    )


@dataclass(slots=True)
class _Walk:
    """Traversal of a folder; `out` lists the entries left out, by reason."""

    rules: tuple[Rule, ...]
    ignore_file: str | None
    reads_git: bool
    out: dict[Reason, list[str]] = field(default_factory=lambda: {"cache": [], "secret": [], "file": []})

    @classmethod
    def of(cls, folder: Path) -> "_Walk":
        own = next((name for name in IGNORE_FILES if (folder / name).is_file()), None)
        if own is None:
            used = GIT_IGNORE if (folder / GIT_IGNORE).is_file() else None
            return cls(usual_rules(), used, reads_git=True)
        return cls((*usual_rules(), *_read(folder / own, "")), own, reads_git=False)

    def entries(
        self, folder: Path, prefix: str = "", above: tuple[Rule, ...] | None = None
    ) -> Iterator[tuple[str, Path, os.stat_result]]:
        """Yield entries sorted by code points, each directory before its content."""
        rules = self.rules if above is None else above
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
        if self.reads_git and any(entry.name == GIT_IGNORE and entry.is_file() for entry in found):
            rules = (*rules, *_read(folder / GIT_IGNORE, prefix))
        for entry in found:
            name = prefix + entry.name
            status = entry.stat(follow_symlinks=False)
            is_directory = stat.S_ISDIR(status.st_mode)
            path = f"{name}/" if is_directory else name
            reason = _reason(entry, path, rules)
            if reason is not None:
                self.out[reason].append(path)
                continue
            if not is_directory and not stat.S_ISREG(status.st_mode):
                raise Rejected(
                    "archive_entry",
                    "only regular files and directories can be uploaded",
                    place=name,
                    hint="replace the link by a copy, or list it in .musterignore",
                )
            yield name, Path(entry.path), status
            if is_directory:
                yield from self.entries(Path(entry.path), path, rules)


def _reason(entry: os.DirEntry[str], path: str, rules: tuple[Rule, ...]) -> Reason | None:
    """Return why an entry is left out; None if it is packed."""
    rule = deciding_rule(path, rules)
    if rule is not None:
        return None if rule.takes_in else rule.reason
    is_out = path.endswith("/") and is_private(frozenset(inside.name for inside in os.scandir(entry.path)))
    return "secret" if is_out else None


def _read(file: Path, base: str) -> tuple[Rule, ...]:
    lines = file.read_text(errors="replace").splitlines()
    return read_rules(lines, "file", base, overrides_usual=file.name != GIT_IGNORE)


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
