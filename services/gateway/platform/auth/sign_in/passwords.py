"""Passwords: Argon2id in a thread, two at a time, and as much work for who is not there."""

import asyncio
import hashlib
import hmac
from base64 import b64encode

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.low_level import ARGON2_VERSION

from muster.errors import Rejected

MIN_CHARS = 12
MAX_CHARS = 512
_AT_ONCE = 2
"""On one lane each: two hold 128 MiB where one takes 64."""


class Passwords:
    """Hashes and checks. What is hashed is the password's keyed hash, so that a copy of the table alone can be tried out by nobody."""

    def __init__(self, key: bytes, memory_kib: int) -> None:
        self._key = key
        self._hasher = PasswordHasher(time_cost=3, memory_cost=memory_kib, parallelism=1, type=Type.ID)
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._nobodys = _of_no_password(self._hasher)

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


def _of_no_password(hasher: PasswordHasher) -> str:
    """What looks like a hash of `hasher` and is none: to compare with it is as much work, and to make it is none."""
    work = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    salt, tag = (b64encode(bytes(size)).decode().rstrip("=") for size in (hasher.salt_len, hasher.hash_len))
    return f"$argon2id$v={ARGON2_VERSION}${work}${salt}${tag}"


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
