"""A bucket in a directory, for tests: the guarantees of a server without one."""

import hashlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from os import link, utime
from pathlib import Path
from urllib.parse import quote, unquote

from muster.errors import NotFound
from shared.clock import Clock
from shared.objects.interface import Digest, ObjectStat, SignedPut
from shared.objects.signing import CHECKSUM, checksum

PIECE_BYTES = 64 * 1024


class DirectoryObjects:
    """Objects as files in `root`. Signed URLs have the scheme `directory:`; `send` and `fetch` enforce them.

    A key is one file name with escaped slashes: no key leads out of the directory.
    """

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root = root
        self._clock = clock
        self._secret = secrets.token_hex(16)

    async def ensure_bucket(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)

    async def put(self, key: str, content: bytes) -> None:
        self._written(content).replace(self._file(key))

    async def put_if_absent(self, key: str, content: bytes) -> bool:
        made = self._written(content)
        try:
            link(made, self._file(key))
        except FileExistsError:
            return False
        finally:
            made.unlink()
        return True

    async def get(self, key: str, first: int = 0, most: int | None = None) -> AsyncIterator[bytes]:
        content = self._read(key)[first:][:most]
        for start in range(0, len(content), PIECE_BYTES):
            yield content[start : start + PIECE_BYTES]

    async def stat(self, key: str) -> ObjectStat | None:
        found = await self.digest(key)
        return replace(_stat(self._file(key)), sha256=found.sha256) if found else None

    async def digest(self, key: str) -> Digest | None:
        try:
            content = self._read(key)
        except NotFound:
            return None
        return Digest(len(content), hashlib.sha256(content).hexdigest())

    async def copy(self, source: str, target: str) -> None:
        await self.put(target, self._read(source))

    async def join(self, sources: Sequence[str], target: str) -> None:
        await self.put(target, b"".join(map(self._read, sources)))

    async def delete(self, key: str) -> None:
        self._file(key).unlink(missing_ok=True)

    async def delete_many(self, keys: Sequence[str]) -> None:
        for key in keys:
            await self.delete(key)

    async def list(self, prefix: str) -> AsyncIterator[ObjectStat]:
        files = self._root.glob("object-*") if self._root.exists() else ()
        for found in sorted((_stat(file) for file in files), key=lambda one: one.key):
            if found.key.startswith(prefix):
                yield found

    def presign_get(self, key: str, life: timedelta) -> str:
        return self._sign("GET", key, life)

    def presign_put(self, key: str, life: timedelta) -> str:
        return self._sign("PUT", key, life)

    def presign_content(self, key: str, content: Digest, life: timedelta) -> SignedPut:
        signed = checksum(content.sha256)
        return SignedPut(self._sign(f"PUT {signed}", key, life), {CHECKSUM: signed})

    async def send(self, put: SignedPut, content: bytes) -> int:
        signed = put.headers.get(CHECKSUM)
        key = self._key(put.url, "PUT" if signed is None else f"PUT {signed}")
        if key is None or put.headers.keys() - {CHECKSUM}:
            return 403
        if signed is not None and not self._takes(signed, content):
            return 400
        await self.put(key, content)
        return 200

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _takes(self, signed: str, content: bytes) -> bool:
        """Return whether these bytes are the signed ones."""
        return signed == checksum(hashlib.sha256(content).hexdigest())

    async def fetch(self, url: str) -> tuple[int, bytes]:
        """Do an HTTP GET of the URL; return status and body."""
        key = self._key(url, "GET")
        if key is None:
            return 403, b""
        with suppress(NotFound):
            return 200, self._read(key)
        return 404, b""

    def _file(self, key: str) -> Path:
        return self._root / f"object-{quote(key, safe='')}"

    def _written(self, content: bytes) -> Path:
        """Return a file with the bytes that no key names yet, so that objects appear atomically."""
        self._root.mkdir(parents=True, exist_ok=True)
        made = self._root / f"new-{secrets.token_hex(8)}"
        made.write_bytes(content)
        at = self._clock.now().timestamp()
        utime(made, (at, at))
        return made

    def _read(self, key: str) -> bytes:
        try:
            return self._file(key).read_bytes()
        except FileNotFoundError as error:
            raise NotFound(f"the object {key}") from error

    def _sign(self, method: str, key: str, life: timedelta) -> str:
        claim = f"{method}:{(self._clock.now() + life).timestamp()}:{key}"
        return f"directory:{self._seal(claim)}:{claim}"

    def _key(self, url: str, wanted: str) -> str | None:
        _, seal, claim = url.split(":", 2)
        method, until, key = claim.split(":", 2)
        is_valid = seal == self._seal(claim) and method == wanted
        return key if is_valid and float(until) > self._clock.now().timestamp() else None

    def _seal(self, claim: str) -> str:
        return hashlib.sha256(f"{self._secret}:{claim}".encode()).hexdigest()


def _stat(file: Path) -> ObjectStat:
    found = file.stat()
    key = unquote(file.name.removeprefix("object-"))
    return ObjectStat(key, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))
