"""Interface to an object store: only what S3 and compatible servers all support."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from muster.errors import Rejected

LEAST_PART_BYTES = 5 * 1024 * 1024
"""S3's minimum size of a part in `join`."""


@dataclass(frozen=True, slots=True)
class ObjectStat:
    """Metadata of an object.

    `sha256`: hash that the store computed when it received the object (hex). None if it was not requested or the store does not report it.
    """

    key: str
    size_bytes: int
    modified: datetime
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Digest:
    """Size and SHA-256 (hex) of an object's bytes."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SignedPut:
    """A request that writes one object without credentials: PUT the bytes to `url` with these headers."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


class ObjectStore(Protocol):
    """One bucket. Every call raises `Transient` while the server is unavailable or asks to slow down.

    Objects appear atomically, and calls are idempotent.
    """

    async def ensure_bucket(self) -> None:
        """Create the bucket unless it exists."""

    async def put(self, key: str, content: bytes) -> None:
        """Store the object, replacing an older one."""

    async def put_if_absent(self, key: str, content: bytes) -> bool:
        """Store the object unless it exists; return whether it was stored."""

    def get(self, key: str, first: int = 0, most: int | None = None) -> AsyncIterator[bytes]:
        """Yield the object's bytes in chunks, from byte `first` on, at most `most` (not 0).

        Raises:
            NotFound: There is no such object; raised with the first chunk.
            Transient: The transfer broke off; otherwise the chunks are complete.
        """

    async def stat(self, key: str) -> ObjectStat | None:
        """Return size and age of the object; None if there is none."""

    async def digest(self, key: str) -> Digest | None:
        """Stream the object once and return its digest; None if there is none."""

    async def copy(self, source: str, target: str) -> None:
        """Copy an object within the bucket, on the server. Raises `NotFound` without a source."""

    async def join(self, sources: Sequence[str], target: str) -> None:
        """Concatenate several objects in this order, on the server. Raises `NotFound` if one is missing.

        Each except the last needs at least `LEAST_PART_BYTES`.
        """

    async def delete(self, key: str) -> None:
        """Delete the object; no error if there is none."""

    async def delete_many(self, keys: Sequence[str]) -> None:
        """Delete these objects, a thousand per request; no error for missing ones."""

    def list(self, prefix: str) -> AsyncIterator[ObjectStat]:
        """Yield the objects whose keys start with the prefix, ordered by key.

        Objects that were just stored may be missing: do not rely on a listing for correctness.
        """

    def presign_get(self, key: str, life: timedelta) -> str:
        """Return a short-lived URL that reads this object. Pure: no request is sent."""

    def presign_put(self, key: str, life: timedelta) -> str:
        """Return a short-lived URL that writes this object. Pure: no request is sent."""

    def presign_content(self, key: str, content: Digest, life: timedelta) -> SignedPut:
        """Return a short-lived request that can write only these bytes (see `signed_upload_check`). Pure."""

    async def send(self, put: SignedPut, content: bytes) -> int:
        """Send a signed request as a client would; return the HTTP status. No retries."""

    async def close(self) -> None:
        """Release threads and connections."""


async def read_all(store: ObjectStore, key: str, most_bytes: int) -> bytes:
    """Return a small object completely. Raises `NotFound` without one, `Rejected` if it is larger than allowed."""
    pieces: list[bytes] = []
    total = 0
    async for piece in store.get(key):
        total += len(piece)
        if total > most_bytes:
            raise Rejected(
                "object_too_large",
                f"The object exceeds the allowed {most_bytes} bytes.",
            )
        pieces.append(piece)
    return b"".join(pieces)
