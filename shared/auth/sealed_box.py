"""Sealed boxes: content that only the holder of one nkey can read, whichever way it travels.

The nkey's Ed25519 key pair is converted to X25519 (libsodium's `crypto_box_seal`): the sender is anonymous, so the content must be one
that the receiver has asked for over an authenticated channel.
"""

import base64
import binascii

from nacl.exceptions import CryptoError
from nacl.public import SealedBox
from nacl.signing import SigningKey, VerifyKey

from shared.errors import Broken

_RAW_KEY = slice(1, 33)
_RAW_SEED = slice(2, 34)
"""An encoded key begins with one byte for its type, a seed with two; both end with a checksum."""


def seal_for(user_key: str, content: bytes) -> str:
    """Encrypt content for the holder of a public nkey; the result is base64."""
    key = VerifyKey(_decode(user_key)[_RAW_KEY]).to_curve25519_public_key()
    return base64.b64encode(SealedBox(key).encrypt(content)).decode()


def open_sealed(seed: str, sealed: str) -> bytes:
    """Decrypt what `seal_for` has encrypted for the public key of this seed.

    Raises:
        Broken: It was sealed for another key, or changed on its way.
    """
    key = SigningKey(_decode(seed)[_RAW_SEED]).to_curve25519_private_key()
    try:
        return SealedBox(key).decrypt(base64.b64decode(sealed, validate=True))
    except (CryptoError, binascii.Error):
        raise Broken(
            "a sealed message cannot be opened: it was sealed for another key", "unreadable"
        ) from None


def _decode(text: str) -> bytes:
    return base64.b32decode(text + "=" * (-len(text) % 8))
