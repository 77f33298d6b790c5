"""`muster login`, `logout` and `session` as a person meets them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from muster.client.settings import Address, discover, save
from tests.unit.sdk.shell import ID, Shell

WHEN = "2026-12-01T08:00:00Z"
SESSION = {
    "id": ID, "via": "password", "address": "10.0.0.7", "created_at": WHEN, "used_at": WHEN, "expires_at": WHEN,
    "current": True,
}  # fmt: skip
CREATED = SESSION | {"secret": "mss_x", "user": "ann", "tenant": "acme"}
ME = {
    "tenant": ID, "tenant_name": "acme", "token": ID, "name": "ann", "role": "viewer", "permissions": [],
    "roles": [],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("MUSTER_URL", "MUSTER_TOKEN", "MUSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is typed where something is asked for."""
    typed: list[str] = []
    monkeypatch.setattr("typer.prompt", lambda *_, **__: typed.pop(0))
    return typed


def test_one_signs_in_by_name_and_password(shell: Shell, home: Path, answers: list[str]) -> None:
    answers.append("correct horse")
    shell.answers["POST /v1/sessions"] = httpx.Response(201, json=CREATED)
    shell.answers["GET /v1/me"] = httpx.Response(200, json=ME)
    shown = shell("login", "http://platform/", "--user", "ann", "--tenant", "acme")
    assert shown.code == 0 and "signed in to http://platform/ as ann of acme" in shown.err
    assert shell.sent("POST", "/v1/sessions") == {
        "tenant": "acme",
        "user": "ann",
        "password": "correct horse",
    }
    kept = discover()
    assert (kept.url, kept.token) == ("http://platform", "mss_x")
    assert "mss_x" not in shown.out + shown.err and "correct horse" not in shown.out + shown.err


def test_who_signs_in_where_another_platform_comes_first_is_told(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.answers["GET /v1/me"] = httpx.Response(200, json=ME)
    words = ("login", "http://platform", "--token", "mst_x")
    assert "ignore the saved sign-in" not in shell(*words).err
    monkeypatch.setenv("MUSTER_HOME", str(home / "own"))
    assert "ignore the saved sign-in and use MUSTER_HOME" in shell(*words).err


def test_when_a_token_ends_is_said_ahead_of_it(shell: Shell, home: Path) -> None:
    ends = datetime.now(UTC) + timedelta(hours=3, minutes=5)
    shell.answers["GET /v1/me"] = httpx.Response(200, json=ME | {"expires_at": ends.isoformat()})
    save("http://platform", "mst_x")
    assert "in 3 h" in shell("whoami").out


def test_who_one_is_is_said_in_one_way(shell: Shell, home: Path) -> None:
    shown = shell("login", "http://platform", "--user", "ann", "--token", "mst_x")
    assert shown.code == 3 and "cannot be combined" in shown.err


def test_a_wrong_password_leaves_nothing_behind(shell: Shell, home: Path, answers: list[str]) -> None:
    answers.append("wrong")
    problem = {
        "type": "urn:muster:error:rejected",
        "code": "unauthenticated",
        "detail": "this sign-in is not good",
    }
    headers = {"content-type": "application/problem+json"}
    shell.answers["POST /v1/sessions"] = httpx.Response(401, json=problem, headers=headers)
    shown = shell("login", "http://platform", "--user", "ann")
    assert shown.code == 3 and "this sign-in is not good" in shown.err
    assert not (home / ".muster" / "client.json").exists()


def test_sessions_are_listed_and_ended(shell: Shell) -> None:
    shell.answers["GET /v1/sessions"] = httpx.Response(200, json={"items": [SESSION]})
    assert "10.0.0.7" in shell("session", "list").out
    shell.answers["GET /v1/users/ann/sessions"] = httpx.Response(200, json={"items": []})
    assert "no sessions" in shell("session", "list", "--user", "ann").err
    shell.answers[f"DELETE /v1/sessions/{ID}"] = httpx.Response(200, json=SESSION)
    assert shell("session", "revoke", ID).err == f"session {ID} revoked\n"
    shell.answers["DELETE /v1/users/ann/sessions"] = httpx.Response(200, json={"ended": 2})
    assert shell("session", "revoke", "--user", "ann").err == "revoked 2 sessions of ann\n"
    assert shell("session", "revoke").code == 3


def test_passwords_are_asked_for_and_never_shown(shell: Shell, answers: list[str]) -> None:
    answers += ["before", "correct horse battery", "another staple entirely"]
    shell.answers["POST /v1/me/password"] = httpx.Response(200, json={})
    shell.answers["PUT /v1/users/ann/password"] = httpx.Response(200, json={})
    first, second = shell("session", "password"), shell("user", "password", "ann")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert shell.sent("POST", "/v1/me/password") == {
        "old_password": "before",
        "new_password": "correct horse battery",
    }
    assert shell.sent("PUT", "/v1/users/ann/password") == {"password": "another staple entirely"}
    assert "horse" not in first.out + first.err and "staple" not in second.out + second.err


def test_who_a_provider_knows_is_linked_and_unlinked(shell: Shell) -> None:
    known = {"id": ID, "issuer": "https://id.example", "subject": "repo:acme/x", "created_at": WHEN}
    shell.answers["POST /v1/users/ci/identities"] = httpx.Response(201, json=known)
    linked = shell("user", "link", "ci", "--provider", "github", "--subject", "repo:acme/x")
    assert linked.err == "linked ci to repo:acme/x of https://id.example\n"
    shell.answers["GET /v1/users/ci/identities"] = httpx.Response(200, json={"items": [known]})
    assert "repo:acme/x" in shell("user", "identities", "ci").out
    shell.answers[f"DELETE /v1/users/ci/identities/{ID}"] = httpx.Response(200, json=known)
    assert "unlinked ci from repo:acme/x" in shell("user", "unlink", "ci", ID).err


def test_a_recovered_tenants_token_is_all_that_is_printed(shell: Shell) -> None:
    tenant = {"id": ID, "name": "globex", "created_at": WHEN, "secret": "mst_y", "expires_at": WHEN}
    shell.answers["POST /v1/tenants/globex/recover"] = httpx.Response(201, json=tenant)
    assert shell("tenant", "recover", "globex").out == "mst_y\n"


def test_signing_out_forgets_what_login_kept_and_nothing_else(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from muster.client import Client
    from muster.client.http.transport import Transport

    shell.answers["DELETE /v1/sessions/current"] = httpx.Response(200, json=SESSION)
    file = save("http://platform", "mss_x")
    http = httpx.Client(transport=httpx.MockTransport(shell._answer))

    def known_by(address: Address) -> None:
        monkeypatch.setattr("muster.client.connect", lambda *_: Client(Transport(address, http)))

    known_by(Address("http://platform", "mss_x", "MUSTER_URL in the environment"))
    assert "remove it there" in shell("logout").err and file.exists()
    known_by(discover())
    assert shell("logout").err == "signed out of http://platform\n" and not file.exists()
    ended = [
        one for one in shell.requests if (one.method, one.url.path) == ("DELETE", "/v1/sessions/current")
    ]
    assert len(ended) == 2


def test_a_link_that_signs_in_is_the_only_word_on_stdout(shell: Shell, home: Path) -> None:
    made = {"id": ID, "path": "/#sign-in=msl_x", "secret": "msl_x", "expires_at": WHEN}
    shell.answers["POST /v1/sign-in/links"] = httpx.Response(201, json=made)
    save("http://platform", "mst_x")
    shown = shell("session", "link")
    assert (shown.code, shown.out.strip()) == (0, "http://platform/#sign-in=msl_x")
    assert "once, until" in shown.err
    assert '"path":"/#sign-in=msl_x"' in shell("session", "link", "--json").out
