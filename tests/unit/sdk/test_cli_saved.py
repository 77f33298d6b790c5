"""`muster view`: places of the dashboard that one has named."""

import httpx

from tests.unit.sdk.shell import Shell

VIEW = {"name": "mine", "address": "/experiments?filter=owner%20=%20ada", "saved_at": "2026-12-01T08:00:00Z"}


def test_views_are_listed_with_where_they_lead(shell: Shell) -> None:
    shell.answers["GET /v1/views"] = httpx.Response(200, json={"items": [VIEW]})
    assert f"http://platform{VIEW['address']}" in shell("view", "list").out.replace("\n", "")
    shell.answers["GET /v1/views"] = httpx.Response(200, json={"items": []})
    assert "no views" in shell("view", "list").err


def test_an_address_is_taken_as_one_writes_it(shell: Shell) -> None:
    shell.answers["PUT /v1/views"] = httpx.Response(200, json=VIEW)
    said = shell("view", "save", "mine", "/experiments?filter=owner = ada")
    assert shell.sent("PUT", "/v1/views") == {"name": "mine", "address": VIEW["address"]}
    assert said.err == f"view mine saved: {VIEW['address']}\n"


def test_a_view_is_forgotten_by_its_name(shell: Shell) -> None:
    shell.answers["DELETE /v1/views/my view"] = httpx.Response(200, json={})
    assert shell("view", "delete", "my view").err == "view my view deleted\n"
