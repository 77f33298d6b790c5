"""A bucket of an S3 server with Object Lock."""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from io import BytesIO

from minio.commonconfig import COMPLIANCE, GOVERNANCE
from minio.datatypes import Object
from minio.error import S3Error
from minio.retention import Retention

from shared.objects.s3 import LATER, S3Objects

_PAGE = 1000


class S3RetainedObjects(S3Objects):
    """Implements `RetainedObjects`."""

    async def put_retained(self, key: str, content: bytes, until: datetime) -> None:
        await self._run("put", lambda: self._put(key, content, until))

    async def list_versions(self, prefix: str, after: str = "") -> AsyncIterator[str]:
        def take() -> list[Object]:
            return [found for found, _ in zip(pages, range(_PAGE), strict=False)]

        pages: Iterator[Object] = iter(
            self._client.list_objects(
                self._bucket, prefix=prefix, recursive=True, include_version=True, start_after=after or None
            )
        )
        while page := await self._run("list", take):
            for found in page:
                # The server may start at the given key instead of after it.
                if not found.is_delete_marker and str(found.object_name) > after:
                    yield str(found.object_name)

    async def retains(self, key: str, until: datetime) -> bool:
        def attempt() -> bool:
            stored: list[str | None] = []
            if not _is_refused(lambda: stored.append(self._put(key, b".", until))) and stored[0]:
                version = stored[0]
                attacks = (
                    lambda: self._client.remove_object(self._bucket, key, version_id=version),
                    lambda: self._retain(key, version, COMPLIANCE, self._clock.now() + timedelta(seconds=1)),
                    lambda: self._retain(key, version, GOVERNANCE, until),
                    lambda: self._client.remove_object(self._bucket, key, version_id=version),
                )
                are_refused = [_is_refused(attack) for attack in attacks]
                # A store that answers with an error and deletes nevertheless does not retain.
                return all(are_refused) and not _is_refused(
                    lambda: self._client.stat_object(self._bucket, key, version_id=version)
                )
            return False

        return await self._run("put", attempt)

    def _put(self, key: str, content: bytes, until: datetime) -> str | None:
        retention = Retention(COMPLIANCE, until)
        written = self._client.put_object(
            self._bucket, key, BytesIO(content), len(content), retention=retention
        )
        return str(written.version_id) if written.version_id else None

    def _retain(self, key: str, version: str | None, mode: str, until: datetime) -> None:
        self._client.set_object_retention(self._bucket, key, Retention(mode, until), version_id=version)


def _is_refused(call: Callable[[], object]) -> bool:
    """Whether the store refuses a call. Errors that may pass are raised."""
    try:
        call()
    except S3Error as error:
        if error.code in LATER:
            raise
        return True
    return False
