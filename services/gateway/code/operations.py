"""Upload code archives and read the code of experiments.

An upload is streamed to disk, hashed, inspected, and then stored through a URL that the registry signs. The gateway has no credentials of the object store.
"""

import asyncio
import errno
import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import aiohttp

from muster.archive import inspect
from muster.errors import NotFound, Rejected, Transient
from services.gateway.code import store as code_store
from services.gateway.code.schema import (
    Code,
    CodeFile,
    CodeFileRequest,
    CodeFileText,
    CodeRequest,
    ExperimentCode,
    PutCodeRequest,
)
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.schema import ExperimentRequest
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, READ_EXPERIMENT, SAFE
from shared.messages.files import ConfirmUpload, FileEntry, GetCodeFiles, GetCodeText, GetUploadUrl

_CHUNK_BYTES = 256 * 1024
_INLINE_BYTES = 64 * 1024
_TIMEOUT_FACTOR = 3
"""Multiplier of the query timeout for requests that read a whole archive."""


async def put_code(call: Call, request: PutCodeRequest) -> Code:
    """Store a code archive under its SHA-256. Storing it again changes nothing."""
    if call.body is None:
        raise Rejected("invalid_request", "the request has no body; send the code archive (tar.gz)", "body")
    with _spool(call.dependencies.uploads.directory) as spooled:
        size = await _receive(call.body, spooled, request.sha256, call.dependencies.uploads.max_bytes)
        spooled.seek(0)
        if size > _INLINE_BYTES:
            contents = await asyncio.to_thread(inspect, spooled)
        else:
            contents = inspect(spooled)
        await _store(call, request.sha256, size, spooled)
    async with call.transaction() as unit:
        await code_store.save_code(
            unit.connection, call.tenant, request.sha256, size, contents.files, unit.now
        )
    return Code(sha256=request.sha256, size_bytes=size)


async def get_code(call: Call, request: CodeRequest) -> Code:
    """Check whether a code archive is stored, to avoid a second upload."""
    async with call.read() as connection:
        row = await code_store.load_code(connection, request.sha256)
    if row is None or row.files is None:
        # Code without a file list predates it; a second upload stores the list.
        raise NotFound(f"code {request.sha256}", f"upload its archive: PUT /v1/code/{request.sha256}")
    question = GetUploadUrl(sha256=request.sha256, size_bytes=row.size_bytes)
    target = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    if not target.known:
        async with call.transaction() as unit:
            await code_store.forget_code(unit.connection, request.sha256)
        raise NotFound(f"code {request.sha256}", f"upload its archive: PUT /v1/code/{request.sha256}")
    return Code(sha256=request.sha256, size_bytes=row.size_bytes)


async def get_experiment_code(call: Call, request: ExperimentRequest) -> ExperimentCode:
    """List the files of an experiment's code, with sizes and hashes."""
    sha256 = await _code_of(call, request.experiment)
    files: list[CodeFile] = []
    first: int | None = 0
    while first is not None:
        question = GetCodeFiles(sha256=sha256, first=first)
        page = await call.dependencies.bus.ask(
            question, call.tenant, call.dependencies.timeouts.query_s * _TIMEOUT_FACTOR
        )
        files += map(_render, page.files)
        first = page.next
    unpacked_bytes = sum(file.size_bytes for file in files)
    return ExperimentCode(
        sha256=sha256, size_bytes=page.size_bytes, unpacked_bytes=unpacked_bytes, files=files
    )


async def get_experiment_code_file(call: Call, request: CodeFileRequest) -> CodeFileText:
    """Show one text file of an experiment's code."""
    question = GetCodeText(sha256=await _code_of(call, request.experiment), path=request.path)
    found = await call.dependencies.bus.ask(
        question, call.tenant, call.dependencies.timeouts.query_s * _TIMEOUT_FACTOR
    )
    file = found.file
    return CodeFileText(
        path=file.path, size_bytes=file.size_bytes, sha256=file.sha256, text=found.text, is_cut=found.is_cut
    )


async def _code_of(call: Call, experiment: str) -> str:
    row = await find_experiment(call, experiment)
    if row.code_sha256 is None:
        raise NotFound(f"code of experiment {row.number}", "it was submitted without code")
    return str(row.code_sha256)


def _render(file: FileEntry) -> CodeFile:
    return CodeFile(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256)


@contextmanager
def _spool(directory: Path) -> Iterator[IO[bytes]]:
    """Open an unlinked file, which disappears with the process.

    Disk errors are caught around the whole block, because seek and close write buffered data too.
    """
    try:
        with tempfile.TemporaryFile(dir=directory) as spooled:
            yield spooled
    except ConnectionError:
        raise
    except OSError as error:
        raise _disk(error) from error


async def _receive(body: AsyncIterator[bytes], spooled: IO[bytes], sha256: str, limit: int) -> int:
    digest, size = hashlib.sha256(), 0
    async for chunk in body:
        size += len(chunk)
        if size > limit:
            raise Rejected(
                "code_too_large",
                f"the archive is larger than the limit of {limit // (1024 * 1024)} MiB",
                "body",
                "exclude data and results in .musterignore",
            )
        digest.update(chunk)
        spooled.write(chunk)
    if digest.hexdigest() != sha256:
        raise Rejected(
            "hash_mismatch",
            f"the body's SHA-256 is {digest.hexdigest()}, not the one in the path",
            "sha256",
            "the body may have been truncated or altered on the way; send it again",
        )
    return size


async def _store(call: Call, sha256: str, size: int, spooled: IO[bytes]) -> None:
    question = GetUploadUrl(sha256=sha256, size_bytes=size, takes_headers=True)
    target = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    if target.known or target.url is None:
        return
    spooled.seek(0)
    try:
        headers = {"Content-Length": str(size), "Content-Type": "application/gzip", **target.headers}
        async with call.dependencies.http.put(target.url, data=_chunks(spooled), headers=headers) as response:
            if response.status >= 300:
                raise Transient(f"the object store refused the archive (HTTP {response.status})")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Transient(f"the object store did not take the archive: {type(error).__name__}") from error
    confirm = ConfirmUpload(sha256=sha256, size_bytes=size)
    await call.dependencies.bus.ask(
        confirm, call.tenant, call.dependencies.timeouts.query_s * _TIMEOUT_FACTOR
    )


async def _chunks(spooled: IO[bytes]) -> AsyncIterator[bytes]:
    while chunk := spooled.read(_CHUNK_BYTES):
        yield chunk


def _disk(error: OSError) -> Transient:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        text = "the archive was not stored: the gateway's disk is full. Free space there, then send the archive again"
        return Transient(text, retry_after_s=30, code="disk_full")
    return Transient(
        f"the archive was not stored: the gateway cannot write it to its disk: {error.strerror or error}",
        retry_after_s=30,
        code="spool_failed",
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("PutCode", "PUT", "/v1/code/{sha256}", PutCodeRequest, Code, Permission.CODE_WRITE, NATURAL, put_code, stream="upload"),
    Operation("GetCode", "GET", "/v1/code/{sha256}", CodeRequest, Code, Permission.CODE_WRITE, SAFE, get_code, waits=True),
    Operation("GetExperimentCode", "GET", "/v1/experiments/{experiment}/code", ExperimentRequest, ExperimentCode, READ_EXPERIMENT, SAFE, get_experiment_code, waits=True),
    Operation("GetExperimentCodeFile", "GET", "/v1/experiments/{experiment}/code/file", CodeFileRequest, CodeFileText, READ_EXPERIMENT, SAFE, get_experiment_code_file, waits=True),
)
# fmt: on
