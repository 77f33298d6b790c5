"""The only way to the files that a trial owns: beneath a directory descriptor, no links, regular files only.

A trial may exchange any of its files and folders at any time, so a path that was checked is not the path that is opened later. Callers
name a `base`, a folder whose parents only the worker may change, and a path below it; the kernel resolves that path without leaving it.
"""

import ctypes
import errno
import functools
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath

from muster.errors import Rejected
from worker.sandbox.accounts import Account

_OPENAT2 = 437
_RESOLVE = 0x08 | 0x04 | 0x02
"""RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = _FILE | os.O_DIRECTORY
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@dataclass(frozen=True, slots=True)
class TrialFile:
    """A file at `path` below `base`."""

    base: Path
    path: str

    def open(self) -> BufferedReader:
        """Open the file for reading. Never blocks on a pipe.

        Raises:
            OSError: It is missing, reached through a link, or not a regular file.
        """
        with _opened_base(self.base) as base:
            file = open_beneath(base, self.path)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", self.path)
            return os.fdopen(file, "rb")
        except BaseException:
            os.close(file)
            raise


@dataclass(frozen=True, slots=True)
class TrialEntry:
    """A file or folder found by `walk`, below its start; `status` is its own, not a link target's."""

    path: str
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)


@contextmanager
def opened(base: Path, path: str) -> Iterator[int | None]:
    """Open a regular file for reading; yield None if it is missing or anything else."""
    file = None
    with suppress(OSError):
        file = TrialFile(base, path).open()
    if file is None:
        yield None
        return
    with file:
        yield file.fileno()


def walk(base: Path, start: str, *, is_strict: bool, max_depth: int | None = None) -> Iterator[TrialEntry]:
    """Yield everything below the folder `start` of `base`, folders before their contents, without following links.

    Two descriptors are open at a time, however deep the folders are. Folders at `max_depth` are yielded without their contents.

    Raises:
        OSError: `start` cannot be opened, or with `is_strict` anything below it: without, that is left out.
    """
    with _opened_base(base) as descriptor:
        root = open_beneath(descriptor, start, _FOLDER)
    try:
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                found = _entries(root, folder)
            except OSError:
                if is_strict:
                    raise
                continue
            for entry in found:
                yield entry
                if entry.is_folder and (max_depth is None or entry.path.count("/") + 1 < max_depth):
                    waiting.append(entry.path)
    finally:
        os.close(root)


def list_folder(folder: Path) -> list[TrialEntry]:
    """Return what a folder of a run contains, sorted by name, without following links; nothing if it cannot be read."""
    with suppress(OSError), _opened_base(folder) as descriptor:
        return _entries(descriptor, "")
    return []


def hash_trial_file(file: TrialFile) -> tuple[str, int]:
    """Return SHA-256 (hex) and size, reading the file once.

    Raises:
        Rejected: It changed while it was read.
        OSError: It cannot be opened, or is not a regular file.
    """
    with file.open() as source:
        before = _identity(source.fileno())
        sha256 = hashlib.file_digest(source, "sha256").hexdigest()
        size_bytes = source.tell()
        with file.open() as again:
            is_same = before == _identity(source.fileno()) == _identity(again.fileno())
    if not is_same or size_bytes != before[2]:
        raise Rejected(
            "checkpoint_changed",
            f"{file.path} changed while it was read: a checkpoint must not change after it was announced",
            place=file.path,
            hint="write all files inside `with trial.checkpoint(...)`, and close them before its end",
        )
    return sha256, size_bytes


def create_trial_file(file: TrialFile, account: Account | None) -> None:
    """Create an empty file unless it exists, and give it to the trial's user.

    Raises:
        OSError: The disk is full, or the file is a link, has a second name, or is not a regular file.
    """
    with _opened_base(file.base) as base:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        created = os.open(file.path, flags, 0o644, dir_fd=base)
    try:
        status = os.fstat(created)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(errno.EINVAL, "not a regular file with one name", file.path)
        if account is not None:
            os.fchown(created, account.user, account.group)
    finally:
        os.close(created)


def write_private_file(file: TrialFile, content: bytes, account: Account | None) -> None:
    """Write a file that only the trial's user can read, with the folders on its path. An earlier file of this name is replaced.

    Raises:
        OSError: The disk is full, or a part of the path is a link or not a folder.
    """
    *folders, name = PurePosixPath(file.path).parts
    with _opened_base(file.base) as base:
        here = os.dup(base)
    try:
        for folder in folders:
            is_new = _make_folder(folder, here)
            below = os.open(folder, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
            if is_new and account is not None:
                os.fchown(here, account.user, account.group)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=here)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=here), "wb") as target:
            if account is not None:
                os.fchown(target.fileno(), account.user, account.group)
            target.write(content)
    finally:
        os.close(here)


def remove_trial_file(file: TrialFile) -> None:
    """Delete a file or link of a trial, if it exists, without following links."""
    folder, name = os.path.split(file.path)
    with suppress(OSError), _opened_base(file.base) as base:
        parent = open_beneath(base, folder or ".", _FOLDER)
        try:
            os.unlink(name, dir_fd=parent)
        finally:
            os.close(parent)


def _make_folder(name: str, folder: int) -> bool:
    """Create a folder for its owner only; return False if there is something of this name."""
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        return False
    return True


def link_trial_file(file: TrialFile, target: Path) -> None:
    """Give a trial's file a second name `target`, without copying it. The trial's own name stays.

    The link is made from the open descriptor, so that the linked file is the one that was checked to be regular and beneath `base`.

    Raises:
        OSError: The file cannot be opened or linked.
    """
    with file.open() as source:
        descriptor = source.fileno()
        # With a directory descriptor Python calls linkat with AT_SYMLINK_FOLLOW; without, link, which links the /proc entry itself.
        os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=descriptor, follow_symlinks=True)


def remove_tree(folder: Path) -> None:
    """Remove a folder and everything in it, without following links. Entries that cannot be removed stay. A missing folder is ignored.

    Inner folders are first moved to the top of `folder`. So neither their depth nor the length of their paths matters, two descriptors are
    open at a time, and a folder that is exchanged for a link meanwhile is not entered.
    """
    with suppress(OSError), _opened_base(folder.parent) as parent:
        root = open_beneath(parent, folder.name, _FOLDER)
        try:
            _empty(root)
        finally:
            os.close(root)
        os.rmdir(folder.name, dir_fd=parent)


def open_beneath(folder: int, path: str, flags: int = _FILE) -> int:
    """Open `path` below an open folder; no part of it may be a link or lead out.

    Raises:
        OSError: The path is missing, leads through a link, or leaves the folder.
    """
    if not _has_openat2():
        return _open_by_parts(folder, path, flags)
    while True:
        try:
            return _openat2(folder, path, flags)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise


def _openat2(folder: int, path: str, flags: int) -> int:
    how = _OpenHow(flags, 0, _RESOLVE)
    name = ctypes.c_char_p(os.fsencode(path))
    file: int = _libc.syscall(_OPENAT2, folder, name, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return file


@functools.cache
def _has_openat2() -> bool:
    """Whether the kernel is 5.6 or newer, and no seccomp filter of a container hides the call."""
    root = os.open("/", _FOLDER)
    try:
        os.close(_openat2(root, ".", _FOLDER))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def _open_by_parts(folder: int, path: str, flags: int) -> int:
    """Open each part of the path by itself, without following links."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts:
        raise OSError(errno.EXDEV, "the path leaves its folder", path)
    *folders, last = parts or (".",)
    here = os.dup(folder)
    try:
        for part in folders:
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, flags, dir_fd=here)
    finally:
        os.close(here)


@contextmanager
def _opened_base(base: Path) -> Iterator[int]:
    descriptor = os.open(base, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _entries(root: int, folder: str) -> list[TrialEntry]:
    """Return what a folder below `root` contains, sorted by name, without entries that vanish meanwhile."""
    found = []
    descriptor = open_beneath(root, folder or ".", _FOLDER)
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    found.append(TrialEntry(path, entry.stat(follow_symlinks=False)))
    finally:
        os.close(descriptor)
    return sorted(found, key=lambda entry: entry.path)


def _empty(root: int) -> None:
    """Remove what an open folder contains."""
    waiting = _remove_files(root, root)
    while waiting:
        name = waiting.pop()
        with suppress(OSError):
            folder = os.open(name, _FOLDER, dir_fd=root)
            try:
                waiting += _remove_files(folder, root)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=root)


def _remove_files(folder: int, root: int) -> list[str]:
    """Remove what is no folder from an open folder, and move its folders to `root`. Return the names of these there."""
    inner = []
    for name in os.listdir(folder):
        with suppress(OSError):
            try:
                os.unlink(name, dir_fd=folder)
            except IsADirectoryError:
                lifted = name if folder == root else f".removing-{secrets.token_hex(8)}"
                if folder != root:
                    os.rename(name, lifted, src_dir_fd=folder, dst_dir_fd=root)
                inner.append(lifted)
    return inner


def _identity(file: int) -> tuple[int, int, int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
