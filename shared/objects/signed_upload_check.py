"""Tests whether a store enforces the content of a signed upload, by trying to upload other content.

AWS computes and compares the checksum before it stores the object, and rejects unsigned `x-amz-…` headers ("Checking object integrity").
Not every compatible server does. If the store does not, uploads are copied and read back.
"""

import asyncio
import zlib
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

import structlog

from shared.clock import Clock
from shared.errors import Transient
from shared.ids import new_id
from shared.objects.interface import Digest, ObjectStore, SignedPut, read_all
from shared.objects.signing import CHECKSUM, checksum

LIFE = timedelta(minutes=5)
_GOOD, _EVIL = b"what was signed", b"something else"
_log = structlog.get_logger()


class Binding:
    """Result of the test for one store, run when it is first needed.

    Args:
        prefix: Prefix of the test objects, which are deleted afterwards.
        is_wanted: False skips the test and reports no.
    """

    def __init__(
        self, store: ObjectStore, bucket: str, prefix: str, clock: Clock, *, is_wanted: bool
    ) -> None:
        self._store = store
        self._bucket = bucket
        self._prefix = prefix
        self._clock = clock
        self._holds = None if is_wanted else False
        self._trying = asyncio.Lock()

    async def holds(self) -> bool:
        """Return whether a request signed for a content can write nothing else. Raises `Transient` while the store is unavailable."""
        async with self._trying:
            if self._holds is None:
                self._holds = await binds_content(
                    self._store, self._bucket, f"{self._prefix}binding/{new_id(self._clock)}"
                )
                if not self._holds:
                    _log.warning("the store accepts bytes other than those signed; uploads are read back")
        return self._holds


async def binds_content(store: ObjectStore, bucket: str, key: str) -> bool:
    """Return whether only the signed bytes can be written to a key, initially and later, and the store reports their SHA-256.

    Raises:
        Transient: The store is unavailable or reported a server error.
    """
    other = f"{key}-other"
    digest = Digest(len(_GOOD), sha256(_GOOD).hexdigest())
    signed = store.presign_content(key, digest, LIFE)
    await store.put(other, _EVIL)
    try:
        is_kept_out = await _is_kept_out(store, signed, f"/{bucket}/{other}")
        if not is_kept_out or await store.stat(key) is not None:
            return False
        if await _status(store, signed, _GOOD) != 200:
            return False
        is_kept_out = await _is_kept_out(store, signed, f"/{bucket}/{other}")
        found = await store.stat(key)
        is_good = await read_all(store, key, len(_GOOD) + len(_EVIL)) == _GOOD
        return is_kept_out and is_good and found is not None and found.sha256 == digest.sha256
    finally:
        await store.delete_many([key, other])


async def _is_kept_out(store: ObjectStore, signed: SignedPut, other: str) -> bool:
    statuses = [
        await _status(store, SignedPut(signed.url, headers), body)
        for headers, body in _attacks(signed, other)
    ]
    return all(status >= 400 for status in statuses)


def _attacks(signed: SignedPut, other: str) -> Iterator[tuple[dict[str, str], bytes]]:
    """Yield attempts to store other content: unchanged headers, missing or wrong checksum, additional weaker checksum, copy."""
    headers = dict(signed.headers)
    weaker = {"x-amz-checksum-crc32": b64encode(zlib.crc32(_EVIL).to_bytes(4, "big")).decode()}
    yield headers, _EVIL
    yield {}, _EVIL
    yield {CHECKSUM: checksum(sha256(_EVIL).hexdigest())}, _EVIL
    for name in ("x-amz-checksum-algorithm", "x-amz-sdk-checksum-algorithm"):
        yield {**headers, **weaker, name: "CRC32"}, _EVIL
    yield {**headers, "x-amz-trailer": "x-amz-checksum-crc32"}, _EVIL
    yield {**headers, "x-amz-copy-source": other}, b""


async def _status(store: ObjectStore, put: SignedPut, content: bytes) -> int:
    status = await store.send(put, content)
    if status >= 500 or status == 429:
        raise Transient(f"The object store returned {status} to the test of signed uploads.")
    return status
