"""Signing in with a provider, and programs with a provider's tokens: a real small provider (`oidc_provider_mock`), and one of the test's own that answers as badly as it is told to."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc.aio
import httpx
import oidc_provider_mock
import pytest
from aiohttp import web

from services.gateway.operation_table import OPERATIONS
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.matrix import ask_rpc
from tests.integration.gateway.signing_in import REDIRECT, at_mock, begin, finish
from tests.support.oidc_provider import Issuer, SigningKey, bad_tokens
from tests.support.waiting import eventually

FILE = """\
providers:
  mock:
    tenant: default
    issuer: {mock}
    client_id: muster
    client_secret_file: {secret}
    new_people: true
    default_role: viewer
    groups: {{/ml: ml-people}}
    redirects: ["https://muster.example/signed-in"]
    label: Acme
  strict: {{tenant: default, issuer: "{own}", client_id: people, audience: muster-api}}
  linking: {{tenant: default, issuer: "{own}", client_id: linking, link_by_email: true, required_claims: {{hd: acme.com}}}}
  foreign: {{tenant: globex, issuer: "{own}", client_id: foreign, audience: globex-api}}
  nowhere: {{tenant: default, issuer: "http://127.0.0.1:1", client_id: people, audience: nowhere-api}}
"""


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    users = [
        oidc_provider_mock.User(
            sub="ann-1",
            claims={
                "preferred_username": "ann",
                "name": "Ann",
                "email": "ann@acme.com",
                "groups": ["/ml", "/hr"],
            },
        )
    ]
    with oidc_provider_mock.run_server_in_thread(user_claims=users) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(scope="module")
async def issuer() -> AsyncIterator[Issuer]:
    found = Issuer()
    runner = web.AppRunner(found.application())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]],
    others: Others,
    mock: str,
    issuer: Issuer,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Gateway]:
    folder = tmp_path_factory.mktemp("providers")
    (folder / "secret").write_text("s3cret\n")
    (folder / "sign-in.yaml").write_text(FILE.format(mock=mock, own=issuer.url, secret=folder / "secret"))
    found = await start_gateway(settings("gateway"), folder)
    yield found
    await stop_gateway(found)


@pytest.fixture
async def anyone(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    async with gateway.client("") as client:
        yield client


async def test_a_new_person_signs_in_and_is_the_same_the_next_time(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient
) -> None:
    await api.post("/v1/groups", json={"name": "ml-people"})
    await api.post("/v1/users", json={"name": "bob@acme.com"})
    begun = await begin(anyone, "mock")
    answer = await finish(anyone, begun, await at_mock(begun, "ann-1"))
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert (made["user"], made["tenant"], made["via"]) == ("ann", "default", "mock")
    async with gateway.client(made["secret"]) as ann:
        me = (await ann.get("/v1/me")).json()
        assert me["role"] == "viewer" and len(me["roles"]) == 1
    shown = (await api.get("/v1/users/ann")).json()
    assert (shown["display_name"], shown["groups"], shown["kind"]) == ("Ann", ["ml-people"], "person")
    (known,) = (await api.get("/v1/users/ann/identities")).json()["items"]
    assert known["subject"] == "ann-1"
    again = await begin(anyone, "mock")
    assert (await finish(anyone, again, await at_mock(again, "ann-1"))).json()["user"] == "ann"
    # Whoever says to have the address of somebody who is there already is another.
    third = await begin(anyone, "mock")
    other = (await finish(anyone, third, await at_mock(third, "bob@acme.com"))).json()["user"]
    assert other != "bob@acme.com" and other.startswith("person-")
    await api.patch("/v1/users/ann", json={"disabled": True})
    last = await begin(anyone, "mock")
    assert (await finish(anyone, last, await at_mock(last, "ann-1"))).status_code == 401


async def test_strangers_are_shown_what_has_a_label_and_nothing_else(anyone: httpx.AsyncClient) -> None:
    answer = await anyone.get("/v1/sign-in/ways")
    assert answer.json() == {"passwords": True, "providers": [{"name": "mock", "label": "Acme"}]}


async def test_what_was_begun_is_finished_by_who_began_it_once(anyone: httpx.AsyncClient) -> None:
    mine, theirs = await begin(anyone, "mock"), await begin(anyone, "mock")
    came = await at_mock(theirs, "carl")
    for begun, brought in (
        (mine, came),
        (mine, came | {"state": mine["state"]}),
        (theirs, came | {"state": "x"}),
        (theirs, came | {"code": "x"}),
        (theirs, came | {"iss": "https://evil.example"}),
    ):
        answer = await finish(anyone, begun, brought)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), brought
    changed = theirs | {"ticket": "A" + theirs["ticket"][1:]}
    assert (await finish(anyone, changed, came)).status_code == 400
    fresh = await begin(anyone, "mock")
    code = await at_mock(fresh, "carl")
    assert (await finish(anyone, fresh, code)).status_code == 200
    assert (await finish(anyone, fresh, code)).status_code == 401


async def test_a_browser_is_sent_nowhere_else(anyone: httpx.AsyncClient) -> None:
    assert "muster.example" in (await begin(anyone, "mock", "https://muster.example/signed-in"))["url"]
    for redirect in (
        "https://muster.example/signed-in?x",
        "https://evil.example/signed-in",
        "http://127.0.0.1/x",
    ):
        answer = await anyone.get("/v1/sign-in", params={"provider": "mock", "redirect": redirect})
        assert answer.json()["code"] == "redirect_not_allowed", redirect
    answer = await anyone.get("/v1/sign-in", params={"provider": "none", "redirect": REDIRECT})
    assert answer.json()["code"] == "unknown_provider"
    answer = await anyone.get("/v1/sign-in", params={"provider": "nowhere", "redirect": REDIRECT})
    assert (answer.status_code, answer.json()["code"]) == (503, "provider_away")


async def at_own(anyone: httpx.AsyncClient, issuer: Issuer, provider: str, **claims: Any) -> httpx.Response:
    """Signs in at the test's own provider, which checks PKCE and says these claims."""
    begun = await begin(anyone, provider)
    query = parse_qs(urlsplit(begun["url"]).query)
    issuer.challenge, issuer.claims = query["code_challenge"][0], claims
    issuer.nonce = claims.pop("other_nonce", query["nonce"][0])
    came = {"state": query["state"][0], "code": "good", "iss": claims.pop("says", issuer.url)}
    if not came["iss"]:
        del came["iss"]
    return await finish(anyone, begun, came)


async def test_only_who_is_known_is_let_in_where_nobody_is_made(
    api: httpx.AsyncClient, anyone: httpx.AsyncClient, issuer: Issuer
) -> None:
    answer = await at_own(anyone, issuer, "strict", sub="dora-7")
    assert answer.json()["code"] == "unknown_person" and "dora-7" in answer.text, answer.text
    await api.post("/v1/users", json={"name": "dora"})
    await api.post("/v1/users", json={"name": "other"})
    linked = await api.post("/v1/users/dora/identities", json={"provider": "strict", "subject": "dora-7"})
    assert linked.status_code == 200
    taken = await api.post("/v1/users/other/identities", json={"provider": "strict", "subject": "dora-7"})
    assert taken.json()["code"] == "identity_taken"
    assert (await at_own(anyone, issuer, "strict", sub="dora-7")).json()["user"] == "dora"
    gone = await api.delete(f"/v1/users/dora/identities/{linked.json()['id']}")
    assert gone.status_code == 200
    assert (await at_own(anyone, issuer, "strict", sub="dora-7")).json()["code"] == "unknown_person"
    foreign = await api.post("/v1/users/dora/identities", json={"provider": "foreign", "subject": "x"})
    absent = await api.post("/v1/users/dora/identities", json={"provider": "none", "subject": "x"})
    assert foreign.status_code == absent.status_code == 404


async def test_an_answer_of_another_is_not_taken(anyone: httpx.AsyncClient, issuer: Issuer) -> None:
    for claims in (
        {"other_nonce": "another"},
        {"says": "https://evil.example"},
        {"says": ""},
        {"aud": "somebody-else"},
        {"exp": 1},
    ):
        answer = await at_own(anyone, issuer, "strict", sub="dora-7", **claims)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), claims


async def test_an_address_links_only_where_the_site_says_so_and_the_provider_vouches(
    api: httpx.AsyncClient, anyone: httpx.AsyncClient, issuer: Issuer
) -> None:
    await api.post("/v1/users", json={"name": "fay@acme.com"})
    said: dict[str, Any] = {"sub": "fay", "email": "fay@acme.com", "hd": "acme.com"}
    unverified = await at_own(anyone, issuer, "linking", **said)
    assert unverified.json()["code"] == "unknown_person"
    elsewhere = await at_own(anyone, issuer, "linking", **(said | {"email_verified": True, "hd": "evil.com"}))
    assert elsewhere.status_code == 401
    assert (await at_own(anyone, issuer, "linking", **said, email_verified=True)).json()[
        "user"
    ] == "fay@acme.com"
    second = await at_own(anyone, issuer, "linking", **(said | {"email_verified": True, "sub": "fay-2"}))
    assert second.json()["code"] == "unknown_person", "two of one provider are one person"


async def test_a_program_calls_with_its_providers_token(
    gateway: Gateway, api: httpx.AsyncClient, issuer: Issuer
) -> None:
    token = issuer.keys[0].sign(issuer.token("muster-api"))
    async with gateway.client(token) as program:
        assert (await program.get("/v1/me")).status_code == 401
        await api.post("/v1/users", json={"name": "ci", "kind": "service_account"})
        await api.post("/v1/role-bindings", json={"role": "editor", "user": "ci"})
        link = {"provider": "strict", "subject": "ci"}
        assert (await api.post("/v1/users/ci/identities", json=link)).status_code == 200
        me = (await program.get("/v1/me")).json()
        assert (me["name"], me["role"], me["tenant_name"]) == ("ci", "editor", "default")
        assert me["expires_at"] is not None
        row = next(one for one in OPERATIONS if one.name == "GetMe")
        async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
            assert await ask_rpc(channel, row, {}, token) is grpc.StatusCode.OK
        await api.patch("/v1/users/ci", json={"disabled": True})

        async def is_refused() -> bool:
            return (await program.get("/v1/me")).status_code == 401

        await eventually(is_refused)
        await api.patch("/v1/users/ci", json={"disabled": False})
    for audience in ("people", "globex-api"):
        # What says who a person is opens nothing, and what is for another tenant nothing here.
        async with gateway.client(issuer.keys[0].sign(issuer.token(audience))) as program:
            assert (await program.get("/v1/me")).status_code == 401


async def test_every_bad_token_is_refused_alike(
    gateway: Gateway, api: httpx.AsyncClient, anyone: httpx.AsyncClient, issuer: Issuer
) -> None:
    await api.post("/v1/users", json={"name": "ci2", "kind": "service_account"})
    await api.post("/v1/users/ci2/identities", json={"provider": "strict", "subject": "good"})
    good = issuer.token("muster-api", sub="good")
    asked = issuer.asked_for_keys
    async with gateway.client(issuer.keys[0].sign(good)) as program:
        assert (await program.get("/v1/me")).status_code == 200
    row = next(one for one in OPERATIONS if one.name == "GetMe")
    told = set()
    key, other = issuer.keys[:2]
    bad = bad_tokens(good, key, other, SigningKey("nobody's"), time.time())
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        for name, token in bad.items():
            bearer = token.encode().decode("latin-1")
            if len(bearer) < 7000:
                answer = await anyone.get("/v1/me", headers={"Authorization": f"Bearer {bearer}"})
                assert answer.status_code == 401, name
                told.add((answer.json()["code"], answer.json()["detail"], answer.json()["hint"]))
                assert token not in gateway.log.read_text()
            if len(bearer) < 15_000:
                code = await ask_rpc(channel, row, {}, bearer)
                assert code is grpc.StatusCode.UNAUTHENTICATED, name
    assert len(told) == 1, "what is wrong is told to who tries"
    assert issuer.asked_for_keys - asked <= 3, "who sends nonsense has the provider asked each time"


async def test_keys_are_rolled(gateway: Gateway, issuer: Issuer) -> None:
    """A new key counts as soon as its provider shows it."""
    fresh = SigningKey("fresh")
    token = fresh.sign(issuer.token("muster-api", sub="good"))
    async with gateway.client(token) as program:
        assert (await program.get("/v1/me")).status_code == 401
        issuer.keys.insert(0, fresh)

        async def counts() -> bool:
            return (await program.get("/v1/me")).status_code == 200

        await eventually(counts)


async def test_the_secrets_of_a_sign_in_are_logged_nowhere(
    gateway: Gateway, anyone: httpx.AsyncClient
) -> None:
    begun = await begin(anyone, "mock")
    came = await at_mock(begun, "greta")
    made = (await finish(anyone, begun, came)).json()
    log = Path(gateway.log).read_text()
    for secret in (begun["ticket"], came["code"], came["state"], made["secret"], "s3cret"):
        assert secret not in log
