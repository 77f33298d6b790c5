"""Signatures of what is sent, as Standard Webhooks 1.0 has them: whoever has the secret can tell that it is ours, and when it was sent."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"
RANDOM_BYTES = 32


def render_secret(random: bytes) -> str:
    """The secret that carries `random` (32 bytes)."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a secret takes {RANDOM_BYTES} random bytes, not {len(random)}")
    return PREFIX + base64.b64encode(random).decode()


def sign(secrets: Sequence[str], delivery: str, sent_at_s: int, body: bytes) -> dict[str, str]:
    """The headers that carry id, moment and one signature by each of the secrets: while one is replaced, both count."""
    content = f"{delivery}.{sent_at_s}.".encode() + body
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(sent_at_s),
        "webhook-signature": " ".join(_signature(secret, content) for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
