"""Stateless sign-ins in progress: the client holds a ticket, from which the values for the browser and the provider are derived.

State, nonce and PKCE verifier are keyed hashes of the ticket, so that none of them reveals the ticket or the others.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlencode

from muster.errors import Rejected

LIFE_S = 600
_MAC_BYTES = 32
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|\[::1\]):[1-9][0-9]{0,4}/signed-in")
"""Any port is allowed (RFC 8252, 7.3); the rest must match exactly."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A started sign-in: its provider, the redirect address, and its expiry (Unix time in seconds)."""

    provider: str
    redirect: str
    expires_at_s: int
    random: str


@dataclass(frozen=True, slots=True)
class SignInSecrets:
    """The values derived from a ticket."""

    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        """The PKCE challenge for S256 (RFC 7636)."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())


def is_redirect(address: str, exact: Collection[str], loopback: bool) -> bool:
    """True for an exact match, and with `loopback` also for a program on the person's own machine."""
    return address in exact or (loopback and _LOOPBACK.fullmatch(address) is not None)


def render_ticket(key: bytes, ticket: Ticket) -> str:
    """Encode and sign a ticket."""
    parts = [ticket.provider, ticket.redirect, ticket.expires_at_s, ticket.random]
    body = json.dumps(parts, separators=(",", ":")).encode()
    return _text(_mac(key, b"ticket", body) + body)


def read_ticket(key: bytes, text: str, now_s: float) -> Ticket:
    """Verify and decode a ticket.

    Raises:
        Rejected: the ticket is forged or has expired.
    """
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raw = b""
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(key, b"ticket", body)):
        raise Rejected(
            "invalid_request", "this is not a valid sign-in ticket", "ticket", "start the sign-in again"
        )
    ticket = Ticket(*json.loads(body))
    if ticket.expires_at_s <= now_s:
        raise Rejected(
            "sign_in_late",
            f"the sign-in took longer than {LIFE_S // 60} minutes",
            "ticket",
            "start the sign-in again",
        )
    return ticket


def secrets_of(key: bytes, text: str) -> SignInSecrets:
    """Derive state, nonce and verifier from a ticket's text."""
    state, nonce, verifier = (
        _text(_mac(key, purpose, text.encode())) for purpose in (b"state", b"nonce", b"verifier")
    )
    return SignInSecrets(state, nonce, verifier)


def authorization_url(
    endpoint: str, client_id: str, redirect: str, scope: str, secrets: SignInSecrets
) -> str:
    """Return the authorization URL for the browser (OpenID Connect Core 3.1.2.1)."""
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect,
        "scope": scope,
        "state": secrets.state,
        "nonce": secrets.nonce,
        "code_challenge": secrets.challenge,
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


def _mac(key: bytes, purpose: bytes, body: bytes) -> bytes:
    return hmac.digest(key, purpose + b"\0" + body, hashlib.sha256)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
