"""What the platform asks of an object store: only what S3 and its imitations all do."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from muster.errors import Rejected

LEAST_PART_BYTES = 5 * 1024 * 1024
"""S3's own bound for what is joined."""


@dataclass(frozen=True, slots=True)
class ObjectStat:
    """What a store says of an object without giving it out.

    `sha256` is what the store itself found while it received the object (hex); None where it was not asked to, or does not say.
    """

    key: str
    size_bytes: int
    modified: datetime
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Digest:
    """What an object's bytes are: their number, and their SHA-256 in hex."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SignedPut:
    """A request that writes one object without credentials: PUT the bytes to `url`, with these headers."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


class ObjectStore(Protocol):
    """One bucket. Every call raises `Transient` while the server is away or asks to slow down.

    An object is visible whole or not at all; a repeated call has the effect of one.
    """

    async def ensure_bucket(self) -> None:
        """Create the bucket unless it exists."""

    async def put(self, key: str, content: bytes) -> None:
        """Store the object, in place of an older one."""

    async def put_if_absent(self, key: str, content: bytes) -> bool:
        """Store the object unless one is there; return whether it was stored."""

    def get(self, key: str, first: int = 0, most: int | None = None) -> AsyncIterator[bytes]:
        """Yield the object's bytes in pieces, from byte `first` on and at most so many (not 0); raises `NotFound` at the first without an object.

        What breaks off raises `Transient`: the pieces are all of it or that.
        """

    async def stat(self, key: str) -> ObjectStat | None:
        """Return size and age of the object, or None without one."""

    async def digest(self, key: str) -> Digest | None:
        """Read the object once, without holding it, and return what it is; None without one."""

    async def copy(self, source: str, target: str) -> None:
        """Copy an object within the bucket, by the server; raises `NotFound` without a source."""

    async def join(self, sources: Sequence[str], target: str) -> None:
        """Make one object of several in this order, by the server; raises `NotFound` without one of them.

        Each but the last has at least `LEAST_PART_BYTES`.
        """

    async def delete(self, key: str) -> None:
        """Remove the object; no error without one."""

    async def delete_many(self, keys: Sequence[str]) -> None:
        """Remove these objects, a thousand in one request; no error for one that is not there."""

    def list(self, prefix: str) -> AsyncIterator[ObjectStat]:
        """Yield the objects whose keys begin so, in the order of their keys.

        One that was put a moment ago may be missing: nothing that must happen rests on a listing.
        """

    def presign_get(self, key: str, life: timedelta) -> str:
        """Return a URL that reads this one object for a while. Pure: no server is asked."""

    def presign_put(self, key: str, life: timedelta) -> str:
        """Return a URL that writes this one object for a while. Pure: no server is asked."""

    def presign_content(self, key: str, content: Digest, life: timedelta) -> SignedPut:
        """Return a request that writes these very bytes there for a while, and no others (see `binding`). Pure."""

    async def send(self, put: SignedPut, content: bytes) -> int:
        """Do what whoever holds a signed request can do; returns the HTTP status. Nothing is tried again."""

    async def close(self) -> None:
        """Let go of threads and connections."""


async def read_all(store: ObjectStore, key: str, most_bytes: int) -> bytes:
    """Return a small object whole; raises `NotFound` without one, `Rejected` when it is larger than allowed."""
    pieces: list[bytes] = []
    total = 0
    async for piece in store.get(key):
        total += len(piece)
        if total > most_bytes:
            raise Rejected(
                "object_too_large",
                f"An object has more than the {most_bytes} bytes allowed for it.",
            )
        pieces.append(piece)
    return b"".join(pieces)
