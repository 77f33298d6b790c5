"""Tokens that a provider signed (RFC 7519): what must hold of one before a word of it is believed. Pure; keys and time are arguments."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.types import Options

MAX_CHARS = 8192
MAX_SUBJECT_CHARS = 255
LEEWAY_S = 30.0
"""So far may the provider's clock and ours differ."""
_MIN_RSA_BITS = 2048
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

_KINDS: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""By algorithm, the kind of key and curve that it takes. Neither `none` nor any with a shared secret: a public key is no secret."""

Claims = Mapping[str, Any]
KeyDocument = Mapping[str, Any]
"""One key of a JWKS (RFC 7517)."""


class NotValid(Exception):
    """The token is not to be believed. The reason is for our own log, never for who sent it."""


@dataclass(frozen=True, slots=True)
class Expected:
    """For whom a token must have been made, and by whom."""

    issuer: str
    audience: str
    nonce: str | None = None
    """Of an ID token: what was asked for with this very sign-in."""


def is_jwt(text: str) -> bool:
    """True when `text` has the compact form with one signature, and a size that is worth reading."""
    return len(text) <= MAX_CHARS and _SHAPE.fullmatch(text) is not None


def read_unverified(text: str) -> tuple[Claims, Claims]:
    """Header and claims as they are said, to find out whose key must prove them.

    Raises:
        NotValid: it cannot be read.
    """
    try:
        found = jwt.api_jwt.decode_complete(text, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise NotValid(f"it cannot be read: {type(error).__name__}") from None
    return found["header"], found["payload"]


def choose_key(header: Claims, keys: Sequence[KeyDocument]) -> KeyDocument | None:
    """The key that the header names among those of the provider; None where there is none of that name.

    A name is only ever compared: it is no path, no address, and `jku`, `x5u` and `jwk` count for nothing.

    Raises:
        NotValid: the header asks for what is not done here.
    """
    if "crit" in header or "b64" in header:
        raise NotValid("it asks for extensions")
    kind, curve = _KINDS.get(str(header.get("alg")), (None, None))
    if kind is None:
        raise NotValid("its algorithm is not one of those that are taken")
    fitting = [
        key
        for key in keys
        if key.get("kty") == kind
        and (curve is None or key.get("crv") == curve)
        and key.get("use", "sig") == "sig"
        and key.get("alg", header["alg"]) == header["alg"]
    ]
    if "kid" in header:
        return next((key for key in fitting if key.get("kid") == header["kid"]), None)
    return fitting[0] if len(fitting) == 1 else None


def verify(text: str, key: KeyDocument, expected: Expected, now_s: float) -> Claims:
    """The claims of a token that this key signed, for whom it was expected, and which counts now.

    Raises:
        NotValid: one of these does not hold.
    """
    header, _ = read_unverified(text)
    algorithm = str(header["alg"])
    try:
        public = jwt.PyJWK.from_dict(dict(key), algorithm).key
        if isinstance(public, RSAPublicKey) and public.key_size < _MIN_RSA_BITS:
            raise NotValid("its key is too short")
        # Times and names are checked below, with the clock that we are given.
        claims = jwt.decode(text, public, [algorithm], options=_OURS)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise NotValid(f"its signature does not hold: {type(error).__name__}") from None
    _check_names(claims, expected)
    _check_times(claims, now_s)
    return claims


_OURS: Options = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


def _check_names(claims: Claims, expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise NotValid("another issuer")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if expected.audience not in audiences:
        raise NotValid("made for somebody else")
    if expected.nonce is not None:
        if claims.get("nonce") != expected.nonce:
            raise NotValid("another sign-in's nonce")
        if (len(audiences) > 1 or "azp" in claims) and claims.get("azp") != expected.audience:
            raise NotValid("authorised for somebody else")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARS or "\0" in subject:
        raise NotValid("no subject")


def _check_times(claims: Claims, now_s: float) -> None:
    """What is no number, NaN too, holds nowhere."""
    if not _seconds(claims, "exp") > now_s - LEEWAY_S:
        raise NotValid("expired")
    for name in ("nbf", "iat"):
        if name in claims and not _seconds(claims, name) <= now_s + LEEWAY_S:
            raise NotValid("not yet")


def _seconds(claims: Claims, name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotValid(f"{name} is no time")
    try:
        return float(value)
    except OverflowError:
        raise NotValid(f"{name} is no time") from None
