"""A bucket in memory, for tests: the same promises as a server's, without one."""

import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta

from muster.errors import NotFound
from shared.clock import Clock
from shared.objects.port import Digest, ObjectStat

PIECE_BYTES = 64 * 1024


class MemoryObjects:
    """Objects in a dictionary; signed URLs have the scheme `memory:`, and `send` and `fetch` obey them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._objects: dict[str, tuple[bytes, ObjectStat]] = {}

    async def ensure_bucket(self) -> None:
        """Nothing to create."""

    async def put(self, key: str, content: bytes) -> None:
        self._objects[key] = content, ObjectStat(key, len(content), self._clock.now())

    async def put_if_absent(self, key: str, content: bytes) -> bool:
        if key in self._objects:
            return False
        await self.put(key, content)
        return True

    async def get(self, key: str) -> AsyncIterator[bytes]:
        if key not in self._objects:
            raise NotFound(f"the object {key}")
        content = self._objects[key][0]
        for start in range(0, len(content), PIECE_BYTES):
            yield content[start : start + PIECE_BYTES]

    async def stat(self, key: str) -> ObjectStat | None:
        return self._objects[key][1] if key in self._objects else None

    async def digest(self, key: str) -> Digest | None:
        if key not in self._objects:
            return None
        content = self._objects[key][0]
        return Digest(len(content), hashlib.sha256(content).hexdigest())

    async def copy(self, source: str, target: str) -> None:
        if source not in self._objects:
            raise NotFound(f"the object {source}")
        await self.put(target, self._objects[source][0])

    async def delete(self, key: str) -> None:
        self._objects.pop(key, None)

    async def list(self, prefix: str) -> AsyncIterator[ObjectStat]:
        for key in sorted(self._objects):
            if key.startswith(prefix):
                yield self._objects[key][1]

    def presign_get(self, key: str, life: timedelta) -> str:
        return self._sign("GET", key, life)

    def presign_put(self, key: str, life: timedelta) -> str:
        return self._sign("PUT", key, life)

    async def close(self) -> None:
        """Nothing to let go of."""

    async def send(self, url: str, content: bytes) -> int:
        """What an HTTP PUT to the URL would do; returns the status."""
        key = self._key(url, "PUT")
        if key is None:
            return 403
        await self.put(key, content)
        return 200

    async def fetch(self, url: str) -> tuple[int, bytes]:
        """What an HTTP GET of the URL would do; returns status and body."""
        key = self._key(url, "GET")
        if key is None:
            return 403, b""
        return (200, self._objects[key][0]) if key in self._objects else (404, b"")

    def _sign(self, method: str, key: str, life: timedelta) -> str:
        claim = f"{method}:{(self._clock.now() + life).timestamp()}:{key}"
        return f"memory:{self._seal(claim)}:{claim}"

    def _key(self, url: str, wanted: str) -> str | None:
        _, seal, claim = url.split(":", 2)
        method, until, key = claim.split(":", 2)
        stands = seal == self._seal(claim) and method == wanted
        return key if stands and float(until) > self._clock.now().timestamp() else None

    def _seal(self, claim: str) -> str:
        return hashlib.sha256(f"{id(self)}:{claim}".encode()).hexdigest()
