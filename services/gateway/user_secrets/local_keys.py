"""Master keys from a file, the environment or the pepper, newest first."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from services.gateway.user_secrets.envelopes import decrypt, encrypt
from shared.errors import Broken, Rejected

KEY_BYTES = 32
_ID_CHARS = 16


@dataclass(frozen=True, slots=True)
class LocalKeys:
    """Master keys by id. The first one wraps new data keys; the others are earlier or later ones of a rotation."""

    keys: dict[str, bytes] = field(repr=False)

    @classmethod
    def load(cls, path: Path | None, given: SecretStr | None, default: bytes) -> Self:
        """Read the keys from the setting `given` or from the file. Without both, `default` is the only key; with one of them, it is the oldest key.

        Raises:
            Rejected: The file is missing, or a line is not a key of 64 hexadecimal digits.
        """
        keys: list[bytes] = []
        if given is not None:
            keys = _parse(given.get_secret_value().replace(",", "\n"), "MUSTER_GATEWAY__SECRETS__KEYS")
        elif path is not None:
            keys = _parse(_read(path), str(path))
        return cls({_id_of(key): key for key in (*keys, default)})

    @property
    def current(self) -> str:
        return next(iter(self.keys))

    async def wrap(self, data_key: bytes, context: bytes) -> bytes:
        return encrypt(self.keys[self.current], data_key, context)

    async def unwrap(self, key_id: str, wrapped: bytes, context: bytes) -> bytes:
        key = self.keys.get(key_id)
        if key is None:
            raise Broken(
                f"user secrets are encrypted with the master key {key_id}, which this gateway does not have: add the key to its file or setting again",
                "unreadable",
            )
        return decrypt(key, wrapped, context)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise _bad(f"the master keys of user secrets cannot be read: {error}") from None


def _parse(text: str, source: str) -> list[bytes]:
    lines = text.split()
    keys = [bytes.fromhex(line) for line in lines if _is_key(line)]
    if not keys or len(keys) < len(lines):
        raise _bad(
            f"{source} must contain master keys of user secrets, each of {2 * KEY_BYTES} hexadecimal digits, the newest first"
        )
    return keys


def _bad(message: str) -> Rejected:
    hint = f"create a key with `openssl rand -hex {KEY_BYTES}`"
    return Rejected("bad_settings", message, "MUSTER_GATEWAY__SECRETS", hint)


def _is_key(line: str) -> bool:
    try:
        return len(bytes.fromhex(line)) == KEY_BYTES
    except ValueError:
        return False


def _id_of(key: bytes) -> str:
    """Identify a key without disclosing it."""
    return hashlib.sha256(b"muster user secrets\x00" + key).hexdigest()[:_ID_CHARS]
