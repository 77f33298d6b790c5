"""Download of a checkpoint's or version's files: parallel, resumable, verified, and atomic."""

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
"""Progress callback: (bytes added, total bytes)."""


def fetch_into(
    directory: Path,
    listing: Callable[[], Download],
    on_bytes: OnBytes | None = None,
    only: Sequence[str] = (),
) -> Download:
    """Download the files of `listing` (called again when its URLs expire) into `directory`.

    Files are written to a hidden folder beside it, which stays after an interruption: the next call resumes there. The folder is
    renamed only after all sizes and SHA-256 hashes match. `only` restricts the files by patterns.

    Raises:
        Rejected: `directory` is not empty or cannot be written, or a pattern matches no file.
        Broken: A file does not match its recorded size or hash.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Rejected(
            "directory_in_use",
            "the target exists and is not an empty directory",
            place=str(directory),
            hint="choose a path that does not exist, or an empty directory",
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
    """Return the download restricted to files that match a pattern; each pattern must match."""
    if not only:
        return download
    for pattern in only:
        if not any(matches(file.path, pattern) for file in download.files):
            some = ", ".join(file.path for file in download.files[:5])
            raise Rejected(
                "no_such_file",
                f"no file of checkpoint {download.checkpoint} matches {pattern!r}",
                hint=f"its files are {some}{' …' if len(download.files) > 5 else ''}",
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
        self._reported: dict[str, int] = {}

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
                "download again; if the error persists, the stored file is damaged"
            )

    def _rest(self, http: httpx.Client, file: FileDownload, target: Path) -> None:
        """Download the missing rest of `file`."""
        have = target.stat().st_size if target.exists() else 0
        if have > file.size_bytes:
            target.unlink()
            have = 0
        self._report(file.path, have)
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
                raise Transient(f"the URL of {file.path} has expired", retry_after_s=0.0)
            if answer.status_code == httpx.codes.NOT_FOUND:
                raise Broken(
                    f"{file.path} is no longer in the object store: choose another checkpoint or version"
                )
            if not answer.is_success:
                raise Transient(f"the object store answered {answer.status_code} for {file.path}")
            resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
            with target.open("ab" if resumed else "wb") as out:
                for chunk in answer.iter_raw(CHUNK_BYTES):
                    out.write(chunk)
                    self._report(file.path, out.tell())
                out.flush()
                os.fsync(out.fileno())
        if target.stat().st_size != file.size_bytes:
            raise Transient(f"the download of {file.path} was interrupted")

    def _renew(self) -> None:
        fresh = self._listing()
        self._urls = {file.path: file.url for file in fresh.files}

    def _report(self, path: str, position: int) -> None:
        """Report that the first `position` bytes of the file are present."""
        if self._on_bytes is None:
            return
        with self._lock:
            more = position - self._reported.get(path, 0)
            self._reported[path] = position
            if more:
                self._on_bytes(more, self._total)


def _target(folder: Path, path: str) -> Path:
    """Return the target of `path`; refuse paths that leave the folder."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise Broken(f"the file path {path!r} leaves the target folder: nothing was written")
    return folder.joinpath(*parts)


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
