"""Access tokens, sessions and sign-in links: 256 random bits, kept as a keyed hash only."""

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
    """The token that carries `random` (32 bytes)."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a token takes {RANDOM_BYTES} random bytes, not {len(random)}")
    return prefix + base64.urlsafe_b64encode(random).rstrip(b"=").decode()


def is_token(text: str) -> bool:
    """True when `text` has a token's shape; says nothing of whether it is known."""
    return _SHAPE.fullmatch(text) is not None


def is_session(text: str) -> bool:
    """True when `text` has the shape of a session's secret."""
    return _SESSION.fullmatch(text) is not None


def hash_token(pepper: bytes, token: str) -> bytes:
    """What is stored and looked up; of no use without the pepper."""
    return hmac.digest(pepper, token.encode(), hashlib.sha256)


def derive_key(pepper: bytes, purpose: str) -> bytes:
    """A key of its own for each use of the one secret."""
    return hmac.digest(pepper, b"muster:" + purpose.encode(), hashlib.sha256)
