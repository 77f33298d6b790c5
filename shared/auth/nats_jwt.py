"""NATS identities: nkey seeds and the JWTs signed with them (operator, accounts, users).

Pure: entropy and time are arguments. `deploy/keys` creates the deployment's identities; the scheduler issues those of workers.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

import nkeys
from pydantic import JsonValue

Claims = dict[str, JsonValue]

WORKER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


class KeyKind(IntEnum):
    """Type of an nkey; the value is its prefix byte."""

    OPERATOR = nkeys.PREFIX_BYTE_OPERATOR
    ACCOUNT = nkeys.PREFIX_BYTE_ACCOUNT
    USER = nkeys.PREFIX_BYTE_USER


@dataclass(frozen=True, slots=True)
class WorkerIssuer:
    """Scoped signing key that can only issue worker users of one account."""

    account: str
    seed: str

    def to_json(self) -> str:
        """Return the content of the file given to the scheduler."""
        return json.dumps({"account": self.account, "seed": self.seed}) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "WorkerIssuer":
        """Parse the output of `to_json`.

        Raises:
            ValueError: The text has another format.
        """
        fields = json.loads(text)
        if not isinstance(fields, dict) or set(fields) != {"account", "seed"}:
            raise ValueError("not a worker issuer file: expected the keys 'account' and 'seed'")
        return cls(account=str(fields["account"]), seed=str(fields["seed"]))


def new_seed(kind: KeyKind, entropy: bytes) -> str:
    """Return the seed of a new key pair, from 32 bytes of entropy."""
    return bytes(nkeys.encode_seed(entropy, kind.value)).decode()


def public_key(seed: str) -> str:
    """Return the public key of a key pair."""
    return bytes(nkeys.from_seed(seed.encode()).public_key).decode()


def encode(claims: Mapping[str, JsonValue], signer_seed: str) -> str:
    """Sign claims as a NATS JWT; `iss` and `jti` are filled in."""
    signer = nkeys.from_seed(signer_seed.encode())
    body: Claims = {**claims, "iss": bytes(signer.public_key).decode()}
    digest = hashlib.sha256(_canonical(body)).digest()
    body["jti"] = base64.b32encode(digest).decode().rstrip("=")
    signed = f"{_base64(_canonical({'typ': 'JWT', 'alg': 'ed25519-nkey'}))}.{_base64(_canonical(body))}"
    return f"{signed}.{_base64(bytes(signer.sign(signed.encode())))}"


def decode(token: str) -> Claims:
    """Return the claims of a token without verification: for comparison and display only."""
    body = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    if not isinstance(claims, dict):
        raise ValueError("not a NATS token: its claims are not an object")  # noqa: TRY004 - the text is wrong, not its type
    return claims


def worker_token(issuer: WorkerIssuer, worker: str, key: str, *, now: datetime, until: datetime) -> str:
    """Return a worker's user token. Its permissions come from the issuer's template, with the worker's name filled in.

    Args:
        issuer: The scoped signing key.
        worker: The worker's id. It becomes a token of subjects, so only letters, digits, `-` and `_` are allowed.
        key: The worker's public user key; its seed stays with the worker.
        now: Time of issue.
        until: Expiry.

    Raises:
        ValueError: The id cannot be a token of a subject.
    """
    if not WORKER_NAME.fullmatch(worker):
        raise ValueError(
            f"worker id {worker!r} is not valid: use at most 63 letters, digits, '-' and '_', starting with a letter or digit"
        )
    claims: Claims = {
        "sub": key,
        "name": worker,
        "iat": int(now.timestamp()),
        "exp": int(until.timestamp()),
        "nats": {"type": "user", "version": 2, "issuer_account": issuer.account},
    }
    return encode(claims, issuer.seed)


def credentials_text(token: str, seed: str) -> str:
    """Return the content of a `.creds` file, as NATS clients read it."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def _canonical(value: Mapping[str, JsonValue]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
