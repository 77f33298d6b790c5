"""Secrets that must be used again: encrypted and bound to where they stand, so that none can be moved to another row."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.errors import Broken

NONCE_BYTES = 12


def seal(key: bytes, nonce: bytes, context: bytes, text: str) -> bytes:
    """The text under AES-256-GCM.

    Args:
        nonce: `NONCE_BYTES` that are random, and used once.
        context: where the result stands; it is unsealed with the same alone.
    """
    return nonce + AESGCM(key).encrypt(nonce, text.encode(), context)


def unseal(key: bytes, context: bytes, sealed: bytes) -> str:
    """What was sealed. Raises Broken where key or context are others, or the bytes were changed."""
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context).decode()
    except InvalidTag:
        raise Broken(
            "a sealed secret cannot be read: it was sealed under another pepper", "unreadable"
        ) from None
