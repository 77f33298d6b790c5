"""Encrypts stored secrets and binds them to their row, so that they cannot be moved to another one."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.errors import Broken

NONCE_BYTES = 12


def seal(key: bytes, nonce: bytes, context: bytes, text: str) -> bytes:
    """Encrypt a text with AES-256-GCM.

    Args:
        nonce: `NONCE_BYTES` random bytes, used only once.
        context: where the result is stored; `unseal` needs the same context.
    """
    return nonce + AESGCM(key).encrypt(nonce, text.encode(), context)


def unseal(key: bytes, context: bytes, sealed: bytes) -> str:
    """Decrypt a sealed text. Raises Broken if the key, the context or the bytes differ."""
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context).decode()
    except InvalidTag:
        raise Broken(
            "a stored secret cannot be decrypted: it was encrypted with another pepper", "unreadable"
        ) from None
