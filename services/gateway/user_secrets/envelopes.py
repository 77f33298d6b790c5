"""Envelope encryption: each secret has its own data key, which a master key encrypts. Rotating the master key leaves the values as they are."""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from services.gateway.platform.dependencies import MasterKeys
from services.gateway.user_secrets.core import Envelope, SecretId
from shared.errors import Broken

NONCE_BYTES = 12
DATA_KEY_BYTES = 32


async def seal(keys: MasterKeys, secret: SecretId, value: str) -> Envelope:
    """Encrypt a value with a new data key (AES-256-GCM)."""
    data_key = secrets.token_bytes(DATA_KEY_BYTES)
    key_id = keys.current
    wrapped = await keys.wrap(data_key, secret.context)
    return Envelope(key_id, wrapped, encrypt(data_key, value.encode(), secret.context))


async def unseal(keys: MasterKeys, secret: SecretId, envelope: Envelope) -> str:
    """Decrypt a value. Raises Broken if it is not this secret's, or was changed."""
    data_key = await keys.unwrap(envelope.key_id, envelope.wrapped_key, secret.context)
    return decrypt(data_key, envelope.sealed_value, secret.context).decode()


async def rewrap(keys: MasterKeys, secret: SecretId, envelope: Envelope) -> Envelope:
    """Encrypt the data key with the current master key."""
    data_key = await keys.unwrap(envelope.key_id, envelope.wrapped_key, secret.context)
    key_id = keys.current
    return Envelope(key_id, await keys.wrap(data_key, secret.context), envelope.sealed_value)


def encrypt(key: bytes, content: bytes, context: bytes) -> bytes:
    """Encrypt with AES-256-GCM; the result begins with the nonce."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, content, context)


def decrypt(key: bytes, sealed: bytes, context: bytes) -> bytes:
    """Decrypt what `encrypt` has returned. Raises Broken if the key, the context or the bytes differ."""
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
    except InvalidTag:
        raise Broken(
            "a user secret cannot be decrypted: it was encrypted with another master key, or moved or changed in the database",
            "unreadable",
        ) from None
