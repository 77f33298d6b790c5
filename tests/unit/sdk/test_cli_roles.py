"""`muster user`, `group`, `role` and `tenant` as who manages a tenant or a site meets them."""

import httpx

from tests.unit.sdk.shell import Shell

ID = "0190a000-0000-7000-8000-000000000001"
ANN = {
    "id": ID, "name": "ann", "kind": "person", "display_name": "Ann", "groups": ["readers"],
    "created_at": "2026-12-01T08:00:00Z", "disabled_at": None,
}  # fmt: skip
BINDING = {
    "id": ID, "role": "editor", "user": "ann", "group": None, "workspace": "vision", "project": None,
    "created_at": "2026-12-01T08:00:00Z", "by": "admin",
}  # fmt: skip
TOKEN = {"id": ID, "name": "ci", "role": "viewer", "created_at": "2026-12-01T08:00:00Z", "secret": "mst_x"}
TENANT = {
    "id": ID, "name": "globex", "created_at": "2026-12-01T08:00:00Z", "secret": "mst_y",
    "expires_at": "2026-12-08T08:00:00Z",
}  # fmt: skip


def test_a_role_is_given_and_said_in_a_sentence(shell: Shell) -> None:
    shell.answers["POST /v1/role-bindings"] = httpx.Response(201, json=BINDING)
    shown = shell("role", "grant", "editor", "--user", "ann", "-w", "vision")
    assert shown.err == "ann has role editor on workspace vision\n"
    assert shell.sent("POST", "/v1/role-bindings") == {"role": "editor", "user": "ann", "workspace": "vision"}


def test_who_has_what_is_listed_and_taken_back(shell: Shell) -> None:
    shell.answers["GET /v1/role-bindings"] = httpx.Response(200, json={"items": [BINDING]})
    listed = shell("role", "bindings", "--workspace", "vision")
    assert ID in listed.out and "workspace vision" in listed.out
    shell.answers[f"DELETE /v1/role-bindings/{ID}"] = httpx.Response(
        200, json=BINDING | {"group": "g", "user": None}
    )
    assert shell("role", "revoke", ID).err == "group g no longer has role editor on workspace vision\n"


def test_a_user_is_shown_with_what_it_was_given(shell: Shell) -> None:
    shell.answers["GET /v1/users/ann"] = httpx.Response(200, json=ANN)
    shell.answers["GET /v1/role-bindings"] = httpx.Response(200, json={"items": [BINDING]})
    shown = shell("user", "show", "ann").out
    assert "editor on workspace vision" in shown and "readers" in shown and "active" in shown


def test_only_the_secret_is_printed_so_that_it_can_be_kept(shell: Shell) -> None:
    shell.answers["POST /v1/users/ci/tokens"] = httpx.Response(201, json=TOKEN)
    shown = shell("user", "token", "ci", "--name", "ci", "--scope", "experiment.read", "--days", "2")
    assert shown.out == "mst_x\n"
    assert shell.sent("POST", "/v1/users/ci/tokens") == {
        "name": "ci",
        "scope": ["experiment.read"],
        "ttl_s": 172_800,
    }
    shell.answers["POST /v1/tenants"] = httpx.Response(201, json=TENANT)
    assert shell("tenant", "create", "globex").out == "mst_y\n"


def test_users_are_disabled_and_put_into_groups(shell: Shell) -> None:
    shell.answers["PATCH /v1/users/ann"] = httpx.Response(
        200, json=ANN | {"disabled_at": "2026-12-02T08:00:00Z"}
    )
    assert shell("user", "disable", "ann").err == "ann is disabled\n"
    shell.answers["PUT /v1/groups/readers/members/ann"] = httpx.Response(200, json=ANN)
    assert shell("group", "add", "readers", "ann").err == "ann is in readers\n"
    shell.answers["DELETE /v1/groups/readers"] = httpx.Response(200, json={})
    assert shell("group", "delete", "readers").err == "group readers deleted\n"


def test_tokens_are_listed_without_secrets_and_revoked(shell: Shell) -> None:
    known = {
        "id": ID,
        "name": "nightly",
        "role": "viewer",
        "user": "ci",
        "scope": ["experiment.read"],
        "created_at": "2026-12-01T08:00:00Z",
    }
    shell.answers["GET /v1/tokens"] = httpx.Response(200, json={"items": [known]})
    shown = shell("user", "tokens", "--filter", "user = ci")
    assert shown.code == 0 and {ID, "nightly", "ci", "experiment.read"} <= set(shown.out.split()), shown.err
    shell.answers[f"DELETE /v1/tokens/{ID}"] = httpx.Response(
        200, json=known | {"revoked_at": "2026-12-02T08:00:00Z"}
    )
    assert shell("user", "revoke", ID).err == "token nightly revoked\n"
