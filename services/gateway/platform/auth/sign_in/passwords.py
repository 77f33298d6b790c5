"""Hashes and verifies passwords: Argon2id in threads, two at a time, with equal work for unknown users."""

import asyncio
import hashlib
import hmac
import re
import unicodedata
from base64 import b64encode

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.low_level import ARGON2_VERSION

from muster.errors import Rejected
from services.gateway.platform.auth.sign_in.common_passwords import COMMON_PASSWORDS, KEY_RUNS

MIN_CHARS = 12
MAX_CHARS = 512
_AT_ONCE = 2
"""Maximum concurrent hashes. Each uses one thread and 64 MiB with the default settings."""

_SUBSTITUTES = str.maketrans("@4310!$57", "aaeloisst")
_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_AFTER = re.compile(r"[\W\d_]+$")
_NOT_ALPHABETIC = re.compile(r"[\W\d_]+")
_NOT_ALNUM = re.compile(r"[\W_]+")


class Passwords:
    """Hashes and verifies passwords. The input of Argon2 is a keyed hash of the password, so a stolen table cannot be attacked without the key."""

    def __init__(self, key: bytes, memory_kib: int) -> None:
        self._key = key
        self._hasher = PasswordHasher(time_cost=3, memory_cost=memory_kib, parallelism=1, type=Type.ID)
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._dummy = _dummy_hash(self._hasher)

    async def hash(self, password: str) -> str:
        async with self._gate:
            return await asyncio.to_thread(self._hasher.hash, self._keyed(password))

    async def matches(self, hashed: str | None, password: str) -> bool:
        """Whether the password matches the hash. Without a hash, return False after the same work."""
        async with self._gate:
            found = await asyncio.to_thread(self._verify, hashed or self._dummy, self._keyed(password))
        return found and hashed is not None

    def _verify(self, hashed: str, keyed: bytes) -> bool:
        try:
            return self._hasher.verify(hashed, keyed)
        except (Argon2Error, InvalidHashError):
            return False

    def _keyed(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), hashlib.sha256)


def _dummy_hash(hasher: PasswordHasher) -> str:
    """Return a dummy hash: comparing a password with it costs as much as with a real one, creating it costs nothing."""
    work = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    salt, tag = (b64encode(bytes(size)).decode().rstrip("=") for size in (hasher.salt_len, hasher.hash_len))
    return f"$argon2id$v={ARGON2_VERSION}${work}${salt}${tag}"


def check_password(password: str, name: str, place: str) -> None:
    """Raise Rejected for a password that is easy to guess."""
    if (problem := _weakness(password, name)) is not None:
        raise Rejected("weak_password", problem, place, "use several unrelated words")


def _weakness(password: str, name: str) -> str | None:
    if len(password) < MIN_CHARS:
        return f"a password must have at least {MIN_CHARS} characters"
    text = unicodedata.normalize("NFKC", password).casefold()
    if len(set(text)) < 5:
        return "this password is too easy to guess: it repeats a few characters"
    if unicodedata.normalize("NFKC", name).casefold() in text:
        return "this password is too easy to guess: it contains the user's name"
    if any(_is_common(spelling) for spelling in (text, _AFTER.sub("", text).translate(_SUBSTITUTES))):
        return "this password is too easy to guess: it is a common password, or one with digits or punctuation added"
    return None


def _is_common(text: str) -> bool:
    """Whether the text is digits, a run of keys or a common word, also if repeated, or with digits and punctuation around it."""
    stem = _AROUND.sub("", text)
    base = _NOT_ALPHABETIC.sub("", stem)
    return not base or _unit(base) in COMMON_PASSWORDS or _is_run(stem) or _is_run(_NOT_ALNUM.sub("", text))


def _unit(text: str) -> str:
    """Return the shortest text that `text` repeats."""
    return text[: (text + text).index(text, 1)]


def _is_run(text: str) -> bool:
    return len(text) > 3 and any(text in run * 2 or text[::-1] in run * 2 for run in KEY_RUNS)
