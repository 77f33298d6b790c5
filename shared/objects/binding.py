"""Whether a store keeps whoever holds a signed request to the bytes that were signed: tried on the server itself, as a thief would.

What S3 promises (AWS, "Checking object integrity": the checksum is computed and compared before the object is stored; headers
`x-amz-…` that were not signed are refused) not every imitation keeps. Where one does not, uploads are copied and read back.
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
from shared.objects.port import Digest, ObjectStore, SignedPut, read_all
from shared.objects.signing import CHECKSUM, checksum

LIFE = timedelta(minutes=5)
_GOOD, _EVIL = b"what was signed", b"something else"
_log = structlog.get_logger()


class Binding:
    """What was found of a store, looked for when it is first needed.

    Args:
        prefix: below which objects are made for the trial, and deleted.
        is_wanted: False leaves it at no without a trial.
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
        """Whether a request signed for a content can write nothing else. Raises `Transient` while the store is away."""
        async with self._trying:
            if self._holds is None:
                self._holds = await binds_content(
                    self._store, self._bucket, f"{self._prefix}binding/{new_id(self._clock)}"
                )
                if not self._holds:
                    _log.warning("the store takes other bytes than were signed; uploads are read back")
        return self._holds


async def binds_content(store: ObjectStore, bucket: str, key: str) -> bool:
    """Return whether nothing but the signed bytes gets to a key, neither first nor over them, and the store tells their SHA-256.

    Raises:
        Transient: The store is away, or answered that it has trouble.
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
        await _status(store, SignedPut(signed.url, headers), body) for headers, body in _tricks(signed, other)
    ]
    return all(status >= 400 for status in statuses)


def _tricks(signed: SignedPut, other: str) -> Iterator[tuple[dict[str, str], bytes]]:
    """Ways to get something else in: as it is, with no or another checksum, with a weaker one beside, as a copy."""
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
        raise Transient(f"The object store answered {status} to a trial of signed uploads.")
    return status
