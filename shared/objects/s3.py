"""Any S3 server, with the `minio` client. The client blocks, so its calls run in a few threads; signing needs no server."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from io import BytesIO
from typing import Self, TypeVar

import urllib3
from minio import Minio
from minio.commonconfig import ComposeSource, CopySource
from minio.datatypes import Object
from minio.deleteobjects import DeleteObject
from minio.error import InvalidResponseError, MinioException, S3Error, ServerError
from urllib3.exceptions import HTTPError

from muster.errors import Broken, MusterError, NotFound, Transient
from shared.clock import Clock
from shared.objects.interface import Digest, ObjectStat, SignedPut
from shared.objects.signing import CHECKSUM, CHECKSUM_ASKED, Signer, checksum, read_checksum
from shared.settings import S3Settings
from shared.telemetry import metrics

THREADS = 4
READERS = 2
PIECE_BYTES = 1024 * 1024
AT_ONCE_BYTES = 4 * PIECE_BYTES
"""A range up to this size is read in one chunk: four thread switches took longer than the transfer."""
CONNECT_S = 5.0
READ_S = 60.0
SIGN_FOR_SELF = timedelta(minutes=1)

_ABSENT = frozenset({"NoSuchKey", "NoSuchObject", "NotFound", "ResourceNotFound"})
_EXISTS = frozenset({"BucketAlreadyOwnedByYou", "BucketAlreadyExists"})
LATER = frozenset(
    {
        "NoSuchBucket",
        "SlowDown",
        "ServiceUnavailable",
        "InternalError",
        "RequestTimeout",
        "OperationAborted",
    }
)
_LATER_STATUS = frozenset({429, 500, 502, 503, 504})

Result = TypeVar("Result")


class S3Objects:
    """One bucket of an S3 server.

    The region is configured, so signing never asks the server for it: a URL takes about 0.1 ms.
    """

    def __init__(
        self,
        url: str,
        access_key: str,
        secret_key: str,
        bucket: str,
        *,
        clock: Clock,
        region: str = "us-east-1",
    ) -> None:
        self._bucket = bucket
        self._clock = clock
        self._signer = Signer(access_key, secret_key, region)
        self._pool = urllib3.PoolManager(
            maxsize=THREADS * 2,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
            retries=urllib3.Retry(total=2, backoff_factor=0.1, status_forcelist=[500, 502, 503, 504]),
        )
        endpoint = url.removeprefix("http://").removeprefix("https://").rstrip("/")
        self._client = Minio(
            endpoint,
            access_key=access_key,
            secret_key=secret_key,
            secure=url.startswith("https://"),
            region=region,
            http_client=self._pool,
        )
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="objects")
        # Reading large objects must not delay short calls.
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="digests")

    @classmethod
    def of(cls, settings: S3Settings, clock: Clock) -> Self:
        """Return the bucket in the settings."""
        return cls(
            settings.url,
            settings.access_key.get_secret_value(),
            settings.secret_key.get_secret_value(),
            settings.bucket,
            clock=clock,
            region=settings.region,
        )

    async def ensure_bucket(self) -> None:
        def create() -> None:
            if self._client.bucket_exists(self._bucket):
                return
            try:
                self._client.make_bucket(self._bucket)
            except S3Error as error:
                if error.code == "AccessDenied":
                    raise Transient(
                        f"The bucket {self._bucket} does not exist, and these keys may not create it. Create it, or grant s3:CreateBucket."
                    ) from error
                if error.code not in _EXISTS:
                    raise

        await self._run("create_bucket", create)

    async def put(self, key: str, content: bytes) -> None:
        await self._run(
            "put", lambda: self._client.put_object(self._bucket, key, BytesIO(content), len(content))
        )

    async def put_if_absent(self, key: str, content: bytes) -> bool:
        # Not all versions of the client's put_object accept a condition; a presigned URL always does.
        put = SignedPut(self.presign_put(key, SIGN_FOR_SELF), {"If-None-Match": "*"})
        status = await self._send(put, content)
        if status == 200:
            return True
        if status in (409, 412):
            return False
        metrics.object_store_error("put", str(status))
        if status in _LATER_STATUS:
            raise Transient(f"The object store returned {status} to a write; the write is retried.")
        raise Broken(f"The object store returned {status} to a conditional write of {key}.")

    async def get(self, key: str, first: int = 0, most: int | None = None) -> AsyncIterator[bytes]:
        if most is not None and most <= AT_ONCE_BYTES:
            if piece := await self._run("get", lambda: self._read(key, first, most)):
                yield piece
            return
        response = await self._run(
            "get", lambda: self._client.get_object(self._bucket, key, first, most or 0)
        )
        try:
            while piece := await self._run("get", lambda: bytes(response.read(PIECE_BYTES))):
                yield piece
        finally:
            # A body that was not read completely must not return to the pool.
            await self._run("get", response.close)

    def _read(self, key: str, first: int, most: int) -> bytes:
        response = self._client.get_object(self._bucket, key, first, most)
        try:
            return bytes(response.read())
        finally:
            response.close()

    async def stat(self, key: str) -> ObjectStat | None:
        try:
            found = await self._run(
                "stat",
                lambda: self._client.stat_object(self._bucket, key, extra_headers=dict(CHECKSUM_ASKED)),
            )
        except NotFound:
            return None
        return self._stat(found)

    async def digest(self, key: str) -> Digest | None:
        def read() -> Digest:
            response = self._client.get_object(self._bucket, key)
            digest, total = hashlib.sha256(), 0
            try:
                for piece in response.stream(PIECE_BYTES):
                    digest.update(piece)
                    total += len(piece)
            finally:
                response.close()
            return Digest(total, digest.hexdigest())

        try:
            return await self._run("get", read, self._readers)
        except NotFound:
            return None

    async def copy(self, source: str, target: str) -> None:
        origin = CopySource(self._bucket, source)
        await self._run("copy", lambda: self._client.copy_object(self._bucket, target, origin))

    async def join(self, sources: Sequence[str], target: str) -> None:
        origins = [ComposeSource(self._bucket, source) for source in sources]
        await self._run(
            "join", lambda: self._client.compose_object(self._bucket, target, origins), self._readers
        )

    async def delete(self, key: str) -> None:
        try:
            await self._run("delete", lambda: self._client.remove_object(self._bucket, key))
        except NotFound:
            return

    async def delete_many(self, keys: Sequence[str]) -> None:
        def remove() -> None:
            failed = [
                error
                for error in self._client.remove_objects(self._bucket, map(DeleteObject, keys))
                if error.code not in _ABSENT
            ]
            if failed:
                raise Transient(
                    f"The object store failed to delete {len(failed)} objects ({failed[0].code})."
                )

        if keys:
            await self._run("delete", remove)

    async def list(self, prefix: str) -> AsyncIterator[ObjectStat]:
        pages = iter(self._client.list_objects(self._bucket, prefix=prefix, recursive=True))
        while page := await self._run("list", lambda: _take(pages, 1000)):
            for found in page:
                yield self._stat(found)

    def presign_get(self, key: str, life: timedelta) -> str:
        return self._sign("GET", key, life)

    def presign_put(self, key: str, life: timedelta) -> str:
        return self._sign("PUT", key, life)

    def presign_content(self, key: str, content: Digest, life: timedelta) -> SignedPut:
        address = self._sign("PUT", key, life).partition("?")[0]
        headers = {CHECKSUM: checksum(content.sha256)}
        return SignedPut(self._signer.presign("PUT", address, headers, self._clock.now(), life), headers)

    async def send(self, put: SignedPut, content: bytes) -> int:
        return await self._send(put, content, retries=False)

    async def close(self) -> None:
        self._pool.clear()
        for threads in (self._threads, self._readers):
            threads.shutdown(wait=False, cancel_futures=True)

    async def _send(self, put: SignedPut, content: bytes, retries: bool | None = None) -> int:
        """Return the status. `retries` None: as for all other requests."""

        def send() -> int:
            return self._pool.request(
                "PUT", put.url, body=content, headers=put.headers, retries=retries
            ).status

        return await self._run("put", send)

    def _sign(self, method: str, key: str, life: timedelta) -> str:
        return str(
            self._client.get_presigned_url(
                method, self._bucket, key, expires=life, request_date=self._clock.now()
            )
        )

    def _stat(self, found: Object) -> ObjectStat:
        modified: datetime | None = found.last_modified
        checksum_header = found.metadata.get(CHECKSUM) if found.metadata else None
        size_bytes, name = found.size or 0, str(found.object_name)
        return ObjectStat(name, size_bytes, modified or self._clock.now(), read_checksum(checksum_header))

    async def _run(
        self, operation: str, call: Callable[[], Result], threads: ThreadPoolExecutor | None = None
    ) -> Result:
        try:
            with _translated():
                return await asyncio.get_running_loop().run_in_executor(threads or self._threads, call)
        except NotFound:
            raise
        except MusterError as error:
            metrics.object_store_error(operation, _type_of(error))
            raise


def _take(pages: Iterator[Object], most: int) -> list[Object]:
    return [found for found, _ in zip(pages, range(most), strict=False)]


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the client's errors into those of our tree."""
    try:
        yield
    except S3Error as error:
        raise _translate(error) from error
    except (ServerError, InvalidResponseError, HTTPError, OSError) as error:
        raise Transient(f"The object store cannot be reached ({type(error).__name__}).") from error
    except MinioException as error:
        raise Broken(f"The object store's client failed: {error}") from error


def _type_of(error: MusterError) -> str:
    """Return the server's error code, else the exception that the client raised."""
    cause = error.__cause__
    return cause.code or "S3Error" if isinstance(cause, S3Error) else type(cause or error).__name__


def _translate(error: S3Error) -> MusterError:
    if error.code in _ABSENT:
        return NotFound("the object")
    if error.code in LATER:
        return Transient(f"The object store asks to retry later ({error.code}).")
    return Broken(f"The object store rejected a request ({error.code}): {error.message}")
