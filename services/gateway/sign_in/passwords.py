"""Passwords: Argon2id in a thread, two at a time, and as much work for who is not there."""

import asyncio
import hashlib
import hmac

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError

from muster.errors import Rejected

MIN_CHARS = 12
MAX_CHARS = 512
MEMORY_KIB = 64 * 1024
"""RFC 9106's second choice, on one lane: two at a time hold 128 MiB."""
_AT_ONCE = 2


class Passwords:
    """Hashes and checks. What is hashed is the password's keyed hash, so that a copy of the table alone can be tried out by nobody."""

    def __init__(self, key: bytes, memory_kib: int = MEMORY_KIB) -> None:
        self._key = key
        self._hasher = PasswordHasher(time_cost=3, memory_cost=memory_kib, parallelism=1, type=Type.ID)
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._nobodys = self._hasher.hash(b"")

    async def hash(self, password: str) -> str:
        async with self._gate:
            return await asyncio.to_thread(self._hasher.hash, self._keyed(password))

    async def matches(self, hashed: str | None, password: str) -> bool:
        """Whether it is the password of this hash; without a hash it is not, after the same work."""
        async with self._gate:
            found = await asyncio.to_thread(self._verify, hashed or self._nobodys, self._keyed(password))
        return found and hashed is not None

    def _verify(self, hashed: str, keyed: bytes) -> bool:
        try:
            return self._hasher.verify(hashed, keyed)
        except (Argon2Error, InvalidHashError):
            return False

    def _keyed(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), hashlib.sha256)


def check_password(password: str, name: str, place: str) -> None:
    """Raises Rejected for one that is soon guessed."""
    said = None
    if len(password) < MIN_CHARS:
        said = f"a password has at least {MIN_CHARS} characters"
    elif len(set(password)) < 5 or name.lower() in password.lower():
        said = "this password is soon guessed"
    if said is not None:
        raise Rejected(
            "weak_password", said, place, "several words that do not belong together are a good one"
        )
