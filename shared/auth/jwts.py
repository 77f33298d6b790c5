"""Validation of JWTs signed by an identity provider (RFC 7519). Pure; keys and time are arguments."""

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
"""Maximum clock difference between the provider and this process."""
_MIN_RSA_BITS = 2048
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

_KINDS: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Key type and curve by algorithm. Excludes `none` and all algorithms with a shared secret: public keys are not secret."""

Claims = Mapping[str, Any]
KeyDocument = Mapping[str, Any]
"""One key of a JWKS (RFC 7517)."""


class NotValid(Exception):
    """The token is not valid. The reason is for our log only, never for the client."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Issuer and audience that a token must have."""

    issuer: str
    audience: str
    nonce: str | None = None
    """For an ID token: the nonce sent with this sign-in."""


def is_jwt(text: str) -> bool:
    """Return whether `text` has the compact form with one signature, and an acceptable size."""
    return len(text) <= MAX_CHARS and _SHAPE.fullmatch(text) is not None


def read_unverified(text: str) -> tuple[Claims, Claims]:
    """Return header and claims without verification, to find the key that must verify them.

    Raises:
        NotValid: The token cannot be parsed.
    """
    try:
        found = jwt.api_jwt.decode_complete(text, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise NotValid(f"the token cannot be parsed: {type(error).__name__}") from None
    return found["header"], found["payload"]


def choose_key(header: Claims, keys: Sequence[KeyDocument]) -> KeyDocument | None:
    """Return the provider's key that the header names; None if it has no such key.

    The name is only compared, never used as a path or address. `jku`, `x5u` and `jwk` are ignored.

    Raises:
        NotValid: The header requires something unsupported.
    """
    if "crit" in header or "b64" in header:
        raise NotValid("the header requires extensions, which are not supported")
    kind, curve = _KINDS.get(str(header.get("alg")), (None, None))
    if kind is None:
        raise NotValid("the algorithm is not supported")
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
    """Return the claims of a token after checking its signature, issuer, audience and lifetime.

    Raises:
        NotValid: One of these checks failed.
    """
    header, _ = read_unverified(text)
    algorithm = str(header["alg"])
    try:
        public = jwt.PyJWK.from_dict(dict(key), algorithm).key
        if isinstance(public, RSAPublicKey) and public.key_size < _MIN_RSA_BITS:
            raise NotValid("the RSA key is too short")
        # Times and names are checked below, with the clock passed in.
        claims = jwt.decode(text, public, [algorithm], options=_SIGNATURE_ONLY)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise NotValid(f"the signature is not valid: {type(error).__name__}") from None
    _check_names(claims, expected)
    _check_times(claims, now_s)
    return claims


_SIGNATURE_ONLY: Options = {
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
        raise NotValid("the issuer differs")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if expected.audience not in audiences:
        raise NotValid("the audience differs")
    if expected.nonce is not None:
        if claims.get("nonce") != expected.nonce:
            raise NotValid("the nonce belongs to another sign-in")
        if (len(audiences) > 1 or "azp" in claims) and claims.get("azp") != expected.audience:
            raise NotValid("the authorized party (azp) differs")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARS or "\0" in subject:
        raise NotValid("the subject is missing or malformed")


def _check_times(claims: Claims, now_s: float) -> None:
    """Check expiry and start. The comparisons reject NaN too."""
    if not _seconds(claims, "exp") > now_s - LEEWAY_S:
        raise NotValid("expired")
    for name in ("nbf", "iat"):
        if name in claims and not _seconds(claims, name) <= now_s + LEEWAY_S:
            raise NotValid(f"{name} is in the future")


def _seconds(claims: Claims, name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotValid(f"{name} is not a time")
    try:
        return float(value)
    except OverflowError:
        raise NotValid(f"{name} is not a time") from None
