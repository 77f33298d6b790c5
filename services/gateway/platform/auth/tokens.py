"""Secrets of access tokens, sessions and sign-in links: 256 random bits, stored only as a keyed hash."""

import base64
import hashlib
import hmac
import re

PREFIX = "mst_"
SESSION_PREFIX = "mss_"
LINK_PREFIX = "msl_"
RANDOM_BYTES = 32
MIN_PEPPER_BYTES = 32

_SHAPE = re.compile(r"mst_[A-Za-z0-9_-]{43}")
_SESSION = re.compile(r"mss_[A-Za-z0-9_-]{43}")


def render_token(random: bytes, prefix: str = PREFIX) -> str:
    """Encode a token of 32 random bytes."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a token needs {RANDOM_BYTES} random bytes, not {len(random)}")
    return prefix + base64.urlsafe_b64encode(random).rstrip(b"=").decode()


def is_token(text: str) -> bool:
    """True if `text` has the form of an access token, valid or not."""
    return _SHAPE.fullmatch(text) is not None


def is_session(text: str) -> bool:
    """True if `text` has the form of a session's secret."""
    return _SESSION.fullmatch(text) is not None


def hash_token(pepper: bytes, token: str) -> bytes:
    """Return the hash of a token that is stored and looked up. It is useless without the pepper."""
    return hmac.digest(pepper, token.encode(), hashlib.sha256)


def derive_key(pepper: bytes, purpose: str) -> bytes:
    """Derive a key for one purpose from the pepper."""
    return hmac.digest(pepper, b"muster:" + purpose.encode(), hashlib.sha256)
