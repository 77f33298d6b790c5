"""HTTP client of the object store: streams with hashes, and maps failures to Transient or Rejected."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import BinaryIO

import aiohttp

from muster.errors import Rejected, Transient
from shared.messages.files import FileLink, PartLink
from shared.telemetry import metrics
from worker.sandbox.trial_files import TrialFile

FILES_AT_ONCE = 4
"""Concurrent files of one checkpoint, in each direction; each holds a chunk or two in memory."""
CHUNK = 1024 * 1024
STALLED_S = 60
ERROR_BYTES = 4096
_CODE = re.compile(rb"<Code>([A-Za-z]+)</Code>")
_BROKEN_OFF = frozenset({b"RequestTimeout", b"IncompleteBody", b"RequestTimeTooSkewed"})
_STALE = frozenset({b"ExpiredToken", b"InvalidToken", b"TokenRefreshRequired"})
"""S3 error codes with status 400 that do not concern the content; stores name refused contents in many ways."""


class Transfer:
    """One HTTP session for all files of the worker."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, url: str, target: Path, sha256: str, size_bytes: int) -> None:
        """Download the object to `target` and verify it.

        Raises:
            Transient: The store is unreachable, or the bytes do not match the hash.
            Rejected: The store refuses the URL (it may have expired: request another), or the object does not exist (`object_gone`).
        """
        digest, size = hashlib.sha256(), 0
        try:
            async with self._session.get(url) as answer:
                _count_error(answer, "get")
                _check(answer, "download")
                with target.open("wb") as output:
                    async for chunk in answer.content.iter_chunked(CHUNK):
                        size += await asyncio.to_thread(_take_in, chunk, digest, output)
        except (aiohttp.ClientError, TimeoutError) as error:
            metrics.object_store_error("get", type(error).__name__)
            raise Transient(f"a download broke off: {error!r}") from error
        if size != size_bytes or digest.hexdigest() != sha256:
            metrics.object_store_error("get", "bad_bytes")
            raise Transient(
                f"received {size} bytes that do not match the {size_bytes} announced", code="bad_bytes"
            )

    async def put(self, link: FileLink, source: TrialFile) -> None:
        """Upload a file. Raises as `get`; `content_refused` if the store does not accept these bytes."""
        await self._put(link.url, link.headers, _read(source, 0, link.size_bytes), link.size_bytes)

    async def put_part(self, part: PartLink, source: TrialFile) -> None:
        """Upload a part of a file. Raises as `get`."""
        await self._put(part.url, {}, _read(source, part.first, part.size_bytes), part.size_bytes)

    async def _put(
        self, url: str, headers: Mapping[str, str], content: AsyncIterator[bytes], size_bytes: int
    ) -> None:
        whole = {"Content-Length": str(size_bytes), **headers}
        try:
            async with self._session.put(url, data=content, headers=whole) as answer:
                _count_error(answer, "put")
                if answer.status == 400 and headers:
                    _check_content(await answer.content.read(ERROR_BYTES))
                _check(answer, "upload")
        except (aiohttp.ClientError, TimeoutError) as error:
            metrics.object_store_error("put", type(error).__name__)
            raise Transient(f"the store did not answer an upload: {str(error) or repr(error)}") from error


def new_session() -> aiohttp.ClientSession:
    """Return a session that times out on stalled connections, not on long files."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=STALLED_S)
    return aiohttp.ClientSession(timeout=timeout, auto_decompress=False, read_bufsize=CHUNK)


def hash_file(path: Path) -> tuple[str, int]:
    """Return SHA-256 (hex) and size."""
    with path.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256")
        return digest.hexdigest(), source.tell()


async def _read(source: TrialFile, first: int, size_bytes: int) -> AsyncIterator[bytes]:
    with source.open() as opened:
        opened.seek(first)
        left = size_bytes
        while left and (chunk := await asyncio.to_thread(opened.read, min(CHUNK, left))):
            left -= len(chunk)
            yield chunk


def _take_in(chunk: bytes, digest: "hashlib._Hash", output: BinaryIO) -> int:
    digest.update(chunk)
    return output.write(chunk)


def _count_error(answer: aiohttp.ClientResponse, operation: str) -> None:
    # The caller handles refused URLs and missing objects; they are no fault of the store.
    if answer.status >= 500:
        metrics.object_store_error(operation, str(answer.status))


def _check_content(error: bytes) -> None:
    """Raise the error for a refused upload, by whether its content or the request was at fault; return if it was the URL."""
    found = _CODE.search(error)
    code = found[1] if found else b""
    if code in _BROKEN_OFF:
        raise Transient(f"an upload broke off: {code.decode()}")
    if code not in _STALE:
        raise Rejected("content_refused", "the store accepts only the announced content")


def _check(answer: aiohttp.ClientResponse, what: str) -> None:
    if answer.status < 400:
        return
    if answer.status == 404:
        raise Rejected(
            "object_gone", f"the object store has no such object: it answered the {what} with status 404"
        )
    if answer.status in (400, 401, 403):
        raise Rejected("url_refused", f"the object store refused the {what} with status {answer.status}")
    raise Transient(f"the object store answered the {what} with status {answer.status}")
