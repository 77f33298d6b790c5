"""A provider of the tests' own: its keys, what it answers, and tokens that are signed well or badly."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa


class SigningKey:
    """A key with its name, as a provider shows and uses it."""

    def __init__(self, kid: str, curve: bool = False, bits: int = 2048) -> None:
        self.kid = kid
        self.algorithm = "ES256" if curve else "RS256"
        self.private: Any = (
            ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, bits)
        )

    @property
    def document(self) -> dict[str, Any]:
        """The public half, as in a JWKS."""
        algorithm: Any = jwt.get_algorithm_by_name(self.algorithm)
        jwk: dict[str, Any] = algorithm.to_jwk(self.private.public_key(), as_dict=True)
        return jwk | {"kid": self.kid, "use": "sig", "alg": self.algorithm}

    @property
    def pem(self) -> bytes:
        public: bytes = self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return public

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """By hand: the library refuses to write most of what must be refused when it is read."""
        fields = {"alg": self.algorithm, "typ": "JWT", "kid": self.kid} | header
        whole = {name: value for name, value in fields.items() if value is not None}
        text = f"{text_of(whole)}.{text_of(claims)}"
        algorithm: Any = jwt.get_algorithm_by_name(self.algorithm)
        return f"{text}.{text_of(algorithm.sign(text.encode(), self.private))}"


def text_of(part: bytes | dict[str, Any]) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"x") -> str:
    """A token whose parts are as they are given."""
    return f"{text_of(header)}.{text_of(claims)}.{text_of(signature)}"


@dataclass
class Issuer:
    """A provider of the test's own: its keys, what its token endpoint answers next, and what it was asked."""

    url: str = ""
    keys: list[SigningKey] = field(default_factory=lambda: [SigningKey("first"), SigningKey("other")])
    claims: dict[str, Any] = field(default_factory=dict)
    nonce: str | None = None
    challenge: str = ""
    asked_for_keys: int = 0
    keys_at: str | None = None
    """Where its description says that its keys are; None: where they are."""

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._describe)
        app.router.add_get("/keys", self._show_keys)
        app.router.add_post("/token", self._redeem)
        return app

    def token(self, audience: str, **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.url, "aud": audience, "sub": "ci", "iat": now, "exp": now + 600} | claims

    async def _describe(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": self.keys_at or f"{self.url}/keys",
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def _show_keys(self, request: web.Request) -> web.Response:
        self.asked_for_keys += 1
        return web.json_response({"keys": [key.document for key in self.keys]})

    async def _redeem(self, request: web.Request) -> web.Response:
        form = await request.post()
        proof = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        if base64.urlsafe_b64encode(proof).rstrip(b"=").decode() != self.challenge or form["code"] != "good":
            return web.json_response({"error": "invalid_grant"}, status=400)
        token = self.token(str(form["client_id"]), nonce=self.nonce, **self.claims)
        return web.json_response({"id_token": self.keys[0].sign(token)})


def bad_tokens(
    good: dict[str, Any], key: SigningKey, other: SigningKey, stranger: SigningKey, now_s: float
) -> dict[str, str]:
    """What is to be refused, by what is wrong with it; `good` is what `key` may sign, `other` is shown too, `stranger` by nobody."""
    return _forged(good, key, other, stranger) | _claimed(good, key, now_s) | _malformed(good, key)


def _forged(good: dict[str, Any], key: SigningKey, other: SigningKey, stranger: SigningKey) -> dict[str, str]:
    """The claims are right, who signed them is not, or the header says what nobody may choose."""

    def by_secret(secret: bytes, algorithm: str = "HS256") -> str:
        body = f"{text_of({'alg': algorithm, 'kid': key.kid, 'typ': 'JWT'})}.{text_of(good)}"
        return f"{body}.{text_of(hmac.digest(secret, body.encode(), hashlib.sha256))}"

    header, body, signature = key.sign(good).split(".")
    return {
        "alg none": unsigned({"alg": "none"}, good, b""),
        "alg none, with a signature": unsigned({"alg": "none", "kid": key.kid}, good),
        "alg NoNe": unsigned({"alg": "NoNe", "kid": key.kid}, good),
        "no alg": key.sign(good, alg=None),
        "alg of no kind": key.sign(good, alg=["RS256"]),
        "HS256 with the public key": by_secret(key.pem),
        "HS256 with the public key as JSON": by_secret(json.dumps(key.document).encode()),
        "HS256 with nothing": by_secret(b""),
        "no signature": f"{header}.{body}.",
        "another's signature": f"{header}.{body}.{other.sign(good).split('.')[2]}",
        "another body": f"{header}.{text_of(good | {'sub': 'root'})}.{signature}",
        "crit": key.sign(good, crit=["exp"]),
        "b64 false": key.sign(good, b64=False, crit=["b64"]),
        "kid of another key": key.sign(good, kid=other.kid),
        "kid of a stranger": stranger.sign(good),
        "kid is a path": stranger.sign(good, kid="../../../../dev/null"),
        "kid is SQL": stranger.sign(good, kid="' OR 1=1 --"),
        "kid is an address": stranger.sign(good, kid="http://169.254.169.254/keys"),
        "kid is no text": key.sign(good, kid={"a": 1}),
        "no kid, and a stranger's key": stranger.sign(good, kid=None),
        "jku": stranger.sign(good, jku="http://127.0.0.1:1/keys", kid=key.kid),
        "x5u": stranger.sign(good, x5u="http://127.0.0.1:1/chain", kid=key.kid),
        "jwk of its own": stranger.sign(good, jwk=stranger.document, kid=key.kid),
    }  # fmt: skip


def _claimed(good: dict[str, Any], key: SigningKey, now_s: float) -> dict[str, str]:
    """Rightly signed, and not for us, not now, or of nobody."""
    without = [
        {name: value for name, value in good.items() if name != one} for one in ("exp", "iss", "aud", "sub")
    ]
    return {
        "another audience": key.sign(good | {"aud": "somebody-else"}),
        "an audience that begins alike": key.sign(good | {"aud": good["aud"] + "2"}),
        "audiences, none ours": key.sign(good | {"aud": ["a", "b"]}),
        "an audience that is no text": key.sign(good | {"aud": 1}),
        "another issuer": key.sign(good | {"iss": "https://evil.example"}),
        "the issuer with a slash": key.sign(good | {"iss": good["iss"] + "/"}),
        "issuers": key.sign(good | {"iss": [good["iss"]]}),
        "expired": key.sign(good | {"exp": int(now_s) - 60}),
        "expires never": key.sign(good | {"exp": "never"}),
        "expires at no time": key.sign(good | {"exp": float("nan")}),
        "expires at no number": key.sign(good | {"exp": True}),
        "not yet": key.sign(good | {"nbf": int(now_s) + 600}),
        "made in the future": key.sign(good | {"iat": int(now_s) + 600}),
        "no subject": key.sign(good | {"sub": ""}),
        "a subject that is no text": key.sign(good | {"sub": 7}),
        "a long subject": key.sign(good | {"sub": "x" * 300}),
        **{f"without {one}": key.sign(left) for one, left in zip(("exp", "iss", "aud", "sub"), without, strict=True)},
    }  # fmt: skip


def _malformed(good: dict[str, Any], key: SigningKey) -> dict[str, str]:
    """No token at all, or more than one."""
    whole = key.sign(good)
    header, body, signature = whole.split(".")
    return {
        "two signatures": f"{whole}.{signature}",
        "two signatures as JSON": json.dumps({"payload": body, "signatures": [{"protected": header, "signature": signature}] * 2}),
        "encrypted": f"{header}.{body}.{body}.{body}.{signature}",
        "huge": key.sign(good | {"x": "y" * 10_000}),
        "huge without end": "A" * 9_000 + "." + "A" * 9_000 + "." + "A" * 9_000,
        "no JSON": f"{text_of(b'{')}.{text_of(b'{')}.{signature}",
        "a list": f"{text_of(b'[]')}.{text_of(b'[]')}.{signature}",
        "deep": f"{text_of(b'[' * 3000)}.{body}.{signature}",
        "no UTF-8": f"{text_of(bytes([255]))}.{body}.{signature}",
        "dots": "..",
        "a blank within": whole.replace(".", ". ", 1),
    }  # fmt: skip
