"""The deployment's NATS identities as files: `muster keys init` creates missing ones and keeps existing ones.

operator.seed  operator.jwt          the operator, whose token the server's configuration contains
operator-signer.seed                 signs the accounts on behalf of the operator
system.seed    system.jwt            the account SYS, which has no users
account.seed   account.jwt           the account MUSTER for streams, services and workers; its key only identifies it
account-signer.seed                  signs the services' users
worker-issuer.json                   the scoped signing key for workers, given to the scheduler only
retiring.json                        former signing keys that are still valid
<service>.seed <service>.creds       one user per service, `bus-keeper`, and `admin` for the operator's tools
revoked.json                         revoked user keys
server.conf                          to be included in the server's configuration
"""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from deploy.keys.directory import Keys
from deploy.keys.permissions import (
    ADMIN,
    BUS_KEEPER,
    SERVICES,
    WORKER_ROLE,
    permissions_of,
    worker_template,
)
from muster.errors import Conflict
from shared.auth.nats_jwt import KeyKind, WorkerIssuer, credentials_text, decode, encode, new_seed, public_key

Claims = dict[str, JsonValue]

_NO_LIMITS: Claims = {"subs": -1, "data": -1, "payload": -1}
_ACCOUNT_LIMITS: Claims = {
    **_NO_LIMITS, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1,
}  # fmt: skip
_JETSTREAM_LIMITS: Claims = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
_SEEDS = (
    ("operator", KeyKind.OPERATOR),
    ("operator-signer", KeyKind.OPERATOR),
    ("system", KeyKind.ACCOUNT),
    ("account", KeyKind.ACCOUNT),
    ("account-signer", KeyKind.ACCOUNT),
)
_FOR_GOOD = 253_402_300_799
"""The end of the year 9999. A revocation rejects everything issued to a key before this time: it is permanent."""


def init_keys(directory: Path, now: datetime) -> Keys:
    """Create missing identities; seeds are kept, tokens are signed again only if their claims changed.

    Only their owner can read the files.
    """
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    keys = Keys(directory)
    operator, vouching, system, account, signer = (_seed(directory, name, kind) for name, kind in _SEEDS)
    issuer = _issuer(keys, public_key(account))
    signed = _Signer(directory, int(now.timestamp()))
    operator_claims = _operator_claims(public_key(operator), public_key(system), public_key(vouching))
    signed.file("operator.jwt", operator_claims, operator)
    signed.file("system.jwt", _account_claims("SYS", public_key(system), {}, []), vouching)
    claims = _muster_claims(public_key(account), public_key(signer), issuer, keys)
    signed.file("account.jwt", claims, vouching)
    for identity in (*SERVICES, BUS_KEEPER, ADMIN):
        permissions = permissions_of(identity)
        seed = _seed(directory, identity, KeyKind.USER)
        token = signed.token(
            _existing_token(keys.credentials(identity)),
            _user_claims(identity, public_key(seed), permissions, public_key(account)),
            signer,
        )
        _write(keys.credentials(identity), credentials_text(token, seed))
    _write(keys.server_conf, _server_conf(directory, public_key(system), public_key(account)))
    return keys


def load_revoked(keys: Keys) -> dict[str, str]:
    """Return the owner of each revoked key, by key."""
    return dict(json.loads(keys.revoked.read_text())) if keys.revoked.exists() else {}


def revoke_key(directory: Path, key: str, owner: str, now: datetime) -> Keys:
    """Revoke a public user key permanently. It takes effect, and disconnects users, when servers reload `server.conf`."""
    keys = Keys(directory)
    _write(keys.revoked, json.dumps(load_revoked(keys) | {key: owner}, indent=1, sort_keys=True) + "\n")
    return init_keys(directory, now)


def rotate_service(directory: Path, service: str, now: datetime) -> str:
    """Rotate a service's key, and return the old public key, which stays valid until it is revoked."""
    old = public_key(_seed(directory, service, KeyKind.USER))
    _write(directory / f"{service}.seed", new_seed(KeyKind.USER, secrets.token_bytes(32)) + "\n")
    init_keys(directory, now)
    return old


def rotate_operator(directory: Path, now: datetime) -> None:
    """Rotate the operator key. Servers use it after a restart with the new `server.conf`; users are not affected."""
    for name in ("operator", "operator-signer"):
        _write(directory / f"{name}.seed", new_seed(KeyKind.OPERATOR, secrets.token_bytes(32)) + "\n")
    init_keys(directory, now)


def rotate_account(directory: Path, now: datetime) -> None:
    """Rotate the keys that sign services and workers. Signatures of the former keys stay valid until `retire`.

    Raises:
        Conflict: the keys of an earlier rotation are still valid.
    """
    keys = Keys(directory)
    if keys.retiring.exists():
        raise Conflict(
            "rotation_begun",
            "an earlier rotation of the account's keys is not finished",
            hint="finish it first: `muster keys rotate --account --finish`",
        )
    issuer = WorkerIssuer.from_json(keys.worker_issuer.read_text())
    signer = _seed(directory, "account-signer", KeyKind.ACCOUNT)
    former = {"signer": public_key(signer), "issuer": public_key(issuer.seed)}
    _write(keys.retiring, json.dumps(former) + "\n")
    _write(directory / "account-signer.seed", new_seed(KeyKind.ACCOUNT, secrets.token_bytes(32)) + "\n")
    fresh = WorkerIssuer(issuer.account, new_seed(KeyKind.ACCOUNT, secrets.token_bytes(32)))
    _write(keys.worker_issuer, fresh.to_json())
    init_keys(directory, now)


def retire(directory: Path, now: datetime) -> bool:
    """Invalidate signatures of the account's former keys, once servers reload `server.conf`; return False if there are none."""
    keys = Keys(directory)
    if not keys.retiring.exists():
        return False
    keys.retiring.unlink()
    init_keys(directory, now)
    return True


@dataclass(frozen=True, slots=True)
class _Signer:
    directory: Path
    issued_at: int

    def file(self, name: str, claims: Claims, seed: str) -> None:
        path = self.directory / name
        _write(path, self.token(path.read_text() if path.exists() else None, claims, seed))

    def token(self, existing: str | None, claims: Claims, seed: str) -> str:
        if existing is not None and _same(existing, claims, public_key(seed)):
            return existing
        return encode({**claims, "iat": self.issued_at}, seed)


def _operator_claims(operator: str, system: str, vouching: str) -> Claims:
    """Only signatures of signing keys are valid: an account's own key is its name, which cannot be changed."""
    nats: Claims = {"type": "operator", "version": 2, "system_account": system}
    nats |= {"signing_keys": [vouching], "strict_signing_key_usage": True}
    return {"sub": operator, "name": "muster", "nats": nats}


def _account_claims(
    name: str, key: str, limits: Mapping[str, JsonValue], signing_keys: list[JsonValue]
) -> Claims:
    return {
        "sub": key,
        "name": name,
        "nats": {
            "type": "account",
            "version": 2,
            "limits": {**_ACCOUNT_LIMITS, **limits},
            "signing_keys": signing_keys,
        },
    }


def _muster_claims(account: str, signer: str, issuer: WorkerIssuer, keys: Keys) -> Claims:
    former = json.loads(keys.retiring.read_text()) if keys.retiring.exists() else {}
    issuers = [public_key(issuer.seed), *([former["issuer"]] if former else [])]
    signers: list[JsonValue] = [signer, *([former["signer"]] if former else [])]
    scopes: list[JsonValue] = [
        {"kind": "user_scope", "key": key, "role": WORKER_ROLE, "template": worker_template()}
        for key in issuers
    ]
    claims = _account_claims("MUSTER", account, _JETSTREAM_LIMITS, signers + scopes)
    revocations: Claims = dict.fromkeys(sorted(load_revoked(keys)), _FOR_GOOD)
    nats = cast("Claims", claims["nats"])
    return {**claims, "nats": {**nats, **({"revocations": revocations} if revocations else {})}}


def _user_claims(name: str, key: str, permissions: Mapping[str, JsonValue], account: str) -> Claims:
    nats: Claims = {"type": "user", "version": 2, "issuer_account": account}
    return {"sub": key, "name": name, "nats": {**nats, **_NO_LIMITS, **permissions}}


def _server_conf(directory: Path, system: str, account: str) -> str:
    return (
        f'operator: "{(directory / "operator.jwt").read_text().strip()}"\n'
        f"system_account: {system}\n"
        "resolver: MEMORY\n"
        "resolver_preload: {\n"
        f'  {system}: "{(directory / "system.jwt").read_text().strip()}"\n'
        f'  {account}: "{(directory / "account.jwt").read_text().strip()}"\n'
        "}\n"
    )


def _issuer(keys: Keys, account: str) -> WorkerIssuer:
    if keys.worker_issuer.exists():
        return WorkerIssuer.from_json(keys.worker_issuer.read_text())
    issuer = WorkerIssuer(account=account, seed=new_seed(KeyKind.ACCOUNT, secrets.token_bytes(32)))
    _write(keys.worker_issuer, issuer.to_json())
    return issuer


def _seed(directory: Path, name: str, kind: KeyKind) -> str:
    path = directory / f"{name}.seed"
    if not path.exists():
        _write(path, new_seed(kind, secrets.token_bytes(32)) + "\n")
    return path.read_text().strip()


def _existing_token(credentials: Path) -> str | None:
    return credentials.read_text().splitlines()[1] if credentials.exists() else None


def _same(token: str, claims: Claims, issuer: str) -> bool:
    with suppress(ValueError, IndexError):
        held = {name: value for name, value in decode(token).items() if name not in ("iat", "jti")}
        return held == {**claims, "iss": issuer}
    return False


def _write(path: Path, text: str) -> None:
    """Replace a secret file atomically; do nothing if the content is equal."""
    if path.exists() and path.read_text() == text:
        return
    fresh = path.with_suffix(path.suffix + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
