"""Signatures of messages on the bus: Ed25519 over a message's subject and payload, with an nkey.

A subject only says what a sender may publish to. A signature says who wrote the message, however the bus delivered it.
"""

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property

import nkeys
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from shared.auth.nats_jwt import public_key

_PURPOSE = b"muster message"
"""Distinguishes these signatures from those of tokens, which the same key signs."""


class MessageSigner:
    """Signs messages with the key of a seed."""

    def __init__(self, seed: str) -> None:
        self._pair = nkeys.from_seed(seed.encode())
        self.key = public_key(seed)

    def sign(self, subject: str, payload: bytes) -> str:
        """Return the signature, in base64."""
        return base64.b64encode(self._pair.sign(_signed_bytes(subject, payload))).decode()


@dataclass(frozen=True)
class MessageVerifier:
    """Verifies messages that one key signed.

    Args:
        key: The public key, as nkeys write it.
    """

    key: str

    def verify(self, subject: str, payload: bytes, signature: str) -> bool:
        """Return whether the key signed this payload for this subject."""
        try:
            self._ed25519.verify(_signed_bytes(subject, payload), base64.b64decode(signature, validate=True))
        except (BadSignatureError, ValueError):
            return False
        return True

    @cached_property
    def _ed25519(self) -> VerifyKey:
        return VerifyKey(_raw(self.key))


def _signed_bytes(subject: str, payload: bytes) -> bytes:
    return b"\n".join((_PURPOSE, subject.encode(), payload))


def _raw(key: str) -> bytes:
    """Return the 32 bytes between an nkey's prefix and its checksum. Raises ValueError for other texts."""
    try:
        decoded = base64.b32decode(key + "=" * (-len(key) % 8))
    except binascii.Error as error:
        raise ValueError(f"not a public nkey: {key!r}") from error
    return decoded[1:-2]
