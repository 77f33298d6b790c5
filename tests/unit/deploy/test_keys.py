"""Identities as files: made once, private, signed anew only when what they may do has changed."""

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from deploy.keys import permissions
from deploy.keys.files import init_keys, revoke_key, rotate_service
from deploy.keys.permissions import SERVICES, Row
from shared.auth.nats_jwt import KeyKind, WorkerIssuer, decode, new_seed, public_key, worker_token

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def _texts(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    init_keys(tmp_path, NOW)
    before = _texts(tmp_path)
    init_keys(tmp_path, NOW + timedelta(days=400))
    assert _texts(tmp_path) == before


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    init_keys(tmp_path / "keys", NOW)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()} == {0o600}


def test_a_changed_row_signs_that_service_anew_with_its_old_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init_keys(tmp_path, NOW)
    before = _texts(tmp_path)
    monkeypatch.setitem(permissions.SERVICES, "searcher", Row(entities=("other",)))
    init_keys(tmp_path, NOW)
    changed = {name for name, text in _texts(tmp_path).items() if before[name] != text}
    assert changed == {"searcher.creds"}


def test_every_service_has_credentials_of_the_account_by_its_signing_key(tmp_path: Path) -> None:
    keys = init_keys(tmp_path, NOW)
    account, signer = (
        public_key((tmp_path / f"{name}.seed").read_text().strip()) for name in ("account", "account-signer")
    )
    for service in (*SERVICES, "admin"):
        claims = decode(keys.credentials(service).read_text().splitlines()[1])
        nats = cast("dict[str, object]", claims["nats"])
        assert (claims["iss"], claims["name"], nats["issuer_account"]) == (signer, service, account)


def test_a_worker_is_signed_by_the_scoped_key_and_asks_for_nothing(tmp_path: Path) -> None:
    keys = init_keys(tmp_path, NOW)
    issuer = WorkerIssuer.from_json(keys.worker_issuer.read_text())
    user = public_key(new_seed(KeyKind.USER, bytes(32)))
    claims = decode(worker_token(issuer, "local-1", user, now=NOW, until=NOW + timedelta(hours=24)))
    account = decode((tmp_path / "account.jwt").read_text())
    _, scope = cast("dict[str, list[dict[str, object]]]", account["nats"])["signing_keys"]
    assert claims["iss"] == scope["key"]
    assert claims["nats"] == {"type": "user", "version": 2, "issuer_account": account["sub"]}
    assert (claims["sub"], claims["name"]) == (user, "local-1")
    assert claims["exp"] == int((NOW + timedelta(hours=24)).timestamp())


@pytest.mark.parametrize("name", ["", "a.b", "*", ">", "a b", "-x", "a" * 64, "a\n", "{{name()}}"])
def test_a_worker_id_is_one_plain_token(name: str) -> None:
    issuer = WorkerIssuer("A", new_seed(KeyKind.ACCOUNT, bytes(32)))
    with pytest.raises(ValueError, match="is not valid"):
        worker_token(issuer, name, "U", now=NOW, until=NOW)


@pytest.mark.parametrize("text", ["[]", "{}", json.dumps({"account": "A"}), "no json"])
def test_a_wrong_issuer_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        WorkerIssuer.from_json(text)


def test_no_row_reaches_the_streams_deletion_or_anothers_consumer() -> None:
    for service in SERVICES:
        claims = cast("dict[str, dict[str, list[str]]]", permissions.service_permissions(service))
        allowed = claims["pub"]["allow"]
        assert not [subject for subject in allowed if subject in (">", "$JS.>", "$JS.API.>", "$JS.ACK.>")]
        consumers = [subject for subject in allowed if "CONSUMER" in subject or "$JS.ACK" in subject]
        assert all(f".{service}" in subject for subject in consumers)


def test_another_key_for_a_service_changes_nobody_elses_identity(tmp_path: Path) -> None:
    keys = init_keys(tmp_path, NOW)
    before = _texts(tmp_path)
    old = rotate_service(tmp_path, "gateway", NOW)
    assert old == public_key(before["gateway.seed"].strip())
    changed = {name for name, text in _texts(tmp_path).items() if before[name] != text}
    assert changed == {"gateway.seed", "gateway.creds"}
    assert decode(keys.credentials("gateway").read_text().splitlines()[1])["sub"] != old


def test_a_revoked_key_stays_revoked(tmp_path: Path) -> None:
    keys = init_keys(tmp_path, NOW)
    first, second = (public_key(new_seed(KeyKind.USER, bytes([n] * 32))) for n in (1, 2))
    revoke_key(tmp_path, first, "w-1", NOW)
    revoke_key(tmp_path, second, "w-2", NOW + timedelta(days=1))
    init_keys(tmp_path, NOW + timedelta(days=2))
    claims = cast("dict[str, dict[str, int]]", decode((tmp_path / "account.jwt").read_text())["nats"])
    assert set(claims["revocations"]) == {first, second}
    assert (tmp_path / "account.jwt").read_text().strip() in keys.server_conf.read_text()
    assert stat.S_IMODE(keys.revoked.stat().st_mode) == 0o600
