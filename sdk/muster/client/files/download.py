"""A checkpoint's or version's files onto this disk: in parallel, resumable, checked, whole or not at all."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import httpx

from muster.client.files.globs import matches
from muster.client.http.errors import reached, wait_s
from muster.client.http.transport import ATTEMPTS, TIMEOUT
from muster.client.models import Download, FileDownload
from muster.errors import Broken, Rejected, Transient

PARALLEL = 4
CHUNK_BYTES = 1 << 20

OnBytes = Callable[[int, int], None]
"""Told as bytes move: how many more, and how many there are in all."""


def fetch_into(
    directory: Path,
    listing: Callable[[], Download],
    on_bytes: OnBytes | None = None,
    only: Sequence[str] = (),
) -> Download:
    """Fetch the files that `listing` names (asked again when its URLs run out) and make them `directory`.

    Files arrive in a hidden folder beside it, which stays when the download breaks off: the next call goes
    on there. Only when every size and SHA-256 is right does the folder get its name. Of a part of the files,
    `only` has the patterns.

    Raises:
        Rejected: `directory` holds something already, or cannot be written; or no file fits a pattern.
        Broken: A file is not what the platform says it stored.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Rejected(
            "directory_in_use", "the directory is not empty", place=str(directory), hint="name a fresh one"
        )
    download = _chosen(listing(), only)
    wanted = hashlib.sha256("\0".join(sorted(only)).encode()).hexdigest()[:8] if only else ""
    partial = directory.parent / f".{directory.name}.{download.checkpoint}{wanted and '-'}{wanted}.partial"
    try:
        partial.mkdir(parents=True, exist_ok=True)
        _Fetch(listing, download, partial, on_bytes).run()
        if directory.exists():
            directory.rmdir()
        partial.replace(directory)
    except OSError as error:
        raise Rejected(
            "cannot_write", f"the download cannot be stored: {error.strerror or error}", place=str(directory)
        ) from error
    return download


def _chosen(download: Download, only: Sequence[str]) -> Download:
    """The download with the files that fit a pattern; each pattern has one."""
    if not only:
        return download
    for pattern in only:
        if not any(matches(file.path, pattern) for file in download.files):
            some = ", ".join(file.path for file in download.files[:5])
            raise Rejected(
                "no_such_file",
                f"no file of checkpoint {download.checkpoint} fits {pattern!r}",
                hint=f"it has {some}{' …' if len(download.files) > 5 else ''}",
            )
    files = [file for file in download.files if any(matches(file.path, pattern) for pattern in only)]
    return download.model_copy(update={"files": files})


class _Fetch:
    def __init__(
        self, listing: Callable[[], Download], download: Download, folder: Path, on_bytes: OnBytes | None
    ) -> None:
        self._listing = listing
        self._urls = {file.path: file.url for file in download.files}
        self._files = download.files
        self._folder = folder
        self._total = sum(file.size_bytes for file in download.files)
        self._on_bytes = on_bytes
        self._lock = threading.Lock()
        self._told: dict[str, int] = {}

    def run(self) -> None:
        for file in self._files:
            _target(self._folder, file.path).parent.mkdir(parents=True, exist_ok=True)
        with httpx.Client(timeout=TIMEOUT) as http, ThreadPoolExecutor(PARALLEL) as pool:
            for done in [pool.submit(self._file, http, file) for file in self._files]:
                done.result()

    def _file(self, http: httpx.Client, file: FileDownload) -> None:
        target = _target(self._folder, file.path)
        for attempt in range(ATTEMPTS):
            try:
                self._rest(http, file, target)
                break
            except Transient as error:
                if attempt + 1 == ATTEMPTS:
                    raise
                time.sleep(wait_s(attempt, error.retry_after_s))
        if _sha256(target) != file.sha256:
            target.unlink()
            raise Broken(
                f"{file.path} arrived with another SHA-256 than the platform recorded: "
                "download again; when it stays so, the stored file is damaged"
            )

    def _rest(self, http: httpx.Client, file: FileDownload, target: Path) -> None:
        """Append what is missing of `file`."""
        have = target.stat().st_size if target.exists() else 0
        if have > file.size_bytes:
            target.unlink()
            have = 0
        self._tell(file.path, have)
        if have == file.size_bytes:
            target.touch()
            return
        url = self._urls[file.path]
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with (
            reached(url.split("?", 1)[0], "object store"),
            http.stream("GET", url, headers=headers) as answer,
        ):
            if answer.status_code in (401, 403):
                self._renew()
                raise Transient(f"the address of {file.path} was no longer valid", retry_after_s=0.0)
            if answer.status_code == httpx.codes.NOT_FOUND:
                raise Broken(f"the store no longer has {file.path}: choose another checkpoint or version")
            if not answer.is_success:
                raise Transient(f"the store answered {answer.status_code} for {file.path}")
            resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
            with target.open("ab" if resumed else "wb") as out:
                for chunk in answer.iter_raw(CHUNK_BYTES):
                    out.write(chunk)
                    self._tell(file.path, out.tell())
                out.flush()
                os.fsync(out.fileno())
        if target.stat().st_size != file.size_bytes:
            raise Transient(f"{file.path} broke off")

    def _renew(self) -> None:
        fresh = self._listing()
        self._urls = {file.path: file.url for file in fresh.files}

    def _tell(self, path: str, position: int) -> None:
        """Report that the file's first `position` bytes are here."""
        if self._on_bytes is None:
            return
        with self._lock:
            more = position - self._told.get(path, 0)
            self._told[path] = position
            if more:
                self._on_bytes(more, self._total)


def _target(folder: Path, path: str) -> Path:
    """Return where `path` belongs; a path that would leave the folder is refused."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise Broken(f"the platform named a file {path!r}, which would leave the folder: nothing was written")
    return folder.joinpath(*parts)


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
