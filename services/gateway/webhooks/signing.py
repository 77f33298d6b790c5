"""Signs deliveries as in Standard Webhooks 1.0, so that a receiver with the secret can verify their origin and time."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"
RANDOM_BYTES = 32


def render_secret(random: bytes) -> str:
    """Encode a secret of 32 random bytes."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"a secret needs {RANDOM_BYTES} random bytes, not {len(random)}")
    return PREFIX + base64.b64encode(random).decode()


def sign(secrets: Sequence[str], delivery: str, sent_at_s: int, body: bytes) -> dict[str, str]:
    """Return the headers with id, time and one signature per secret. During a rotation there are two secrets."""
    content = f"{delivery}.{sent_at_s}.".encode() + body
    return {
        "webhook-id": delivery,
        "webhook-timestamp": str(sent_at_s),
        "webhook-signature": " ".join(_signature(secret, content) for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
