"""The session of a browser: a cookie that counts for the gateway's own pages, at every operation, and what proxies say of who calls."""

from collections.abc import AsyncIterator, Callable
from http.cookies import Morsel, SimpleCookie
from itertools import count
from typing import Any

import aiohttp
import grpc.aio
import httpx
import pytest

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.auth.csrf import HEADER
from services.gateway.transports.grpc.server import FULL_NAME
from shared.ids import DEFAULT_TENANT
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.gateway.matrix import GUARDED, MAPPER, Row, filled
from tests.integration.gateway.signing_in import REDIRECT
from tests.integration.gateway.test_experiments import changed, create
from tests.integration.gateway.test_sign_in import OTHER, PASSWORD, person, refused_within
from tests.support.waiting import TIMEOUT_S, eventually

HOST = "muster.example"
PROXY = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7"}
"""What the site's proxy tells of a browser far away."""
OURS = {HEADER: "cookie"}
FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "https://evil.example"} | OURS,
    {"Origin": "null"} | OURS,
    {"Origin": f"http://{HOST}"} | OURS,
    {"Sec-Fetch-Site": "cross-site"} | OURS,
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {},
)
"""What browsers say for pages of other sites, for forms and links, and what no browser says."""


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]], others: Others, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gateway]:
    """Behind a proxy of this machine, which ends TLS."""
    found = await start_gateway(
        settings("gateway"),
        tmp_path_factory.mktemp("web"),
        MUSTER_GATEWAY__TRUSTED_PROXIES='["127.0.0.1/32"]',
        MUSTER_GATEWAY__ALLOWED_HOSTS=f'["{HOST}", "127.0.0.1"]',
        MUSTER_GATEWAY__COMMAND_WAIT_S="0.01",
    )
    async with found.client() as admin:
        await person(admin, "ann", "admin")
        operator = {"role": "operator", "user": "ann"}
        assert (await admin.post("/v1/role-bindings", json=operator)).status_code == 201
    yield found
    await stop_gateway(found)


async def signed_in(browser: httpx.AsyncClient) -> tuple[dict[str, Any], Morsel[str]]:
    """What the page sees of it, and what the browser keeps; that is put into its jar by hand, which knows loopback for no https."""
    answer = await browser.post(
        "/v1/sessions", json={"user": "ann", "password": PASSWORD}, headers=OURS | {"Origin": origin(browser)}
    )
    assert answer.status_code == 200, answer.text
    (kept,) = SimpleCookie(answer.headers["set-cookie"]).values()
    browser.cookies.clear()
    browser.headers["Cookie"] = f"{kept.key}={kept.value}"
    return dict(answer.json()), kept


def origin(browser: httpx.AsyncClient) -> str:
    scheme = browser.headers.get("X-Forwarded-Proto", "http")
    return f"{scheme}://{browser.headers.get('Host', browser.base_url.netloc.decode())}"


@pytest.fixture
async def browser(gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """One that comes by https through the proxy, with nobody signed in."""
    async with gateway.client("") as client:
        client.headers.update(PROXY)
        yield client


async def test_a_page_signs_in_and_never_sees_the_secret(browser: httpx.AsyncClient) -> None:
    made, kept = await signed_in(browser)
    assert made["secret"] == "" and made["user"] == "ann" and kept.value.startswith("mss_")
    assert kept.key == "__Host-muster" and kept["secure"] and kept["httponly"]
    assert (kept["samesite"], kept["path"], kept["domain"]) == ("Strict", "/", "")
    assert int(kept["max-age"]) == 30 * 86400
    me = await browser.get("/v1/me", headers=OURS)
    assert me.status_code == 200 and me.json()["name"] == "ann"
    ended = await browser.delete("/v1/sessions/current", headers=OURS)
    assert ended.status_code == 200
    (gone,) = SimpleCookie(ended.headers["set-cookie"]).values()
    assert (gone.key, gone.value, gone["max-age"]) == ("__Host-muster", "", "0")
    browser.headers.update(OURS)
    await refused_within(browser, 5.0)


async def test_on_this_machine_it_goes_without_encryption(gateway: Gateway) -> None:
    async with gateway.client("") as browser:
        _, kept = await signed_in(browser)
        assert kept.key == f"muster-{browser.base_url.port}" and not kept["secure"] and kept["httponly"]
        assert (await browser.get("/v1/me", headers=OURS)).status_code == 200
        browser.headers["Cookie"] = f"__Host-muster={kept.value}"
        assert (await browser.get("/v1/me", headers=OURS)).status_code == 401, "set by whom?"


async def test_no_cookie_goes_over_a_network_in_the_open(browser: httpx.AsyncClient) -> None:
    browser.headers["X-Forwarded-Proto"] = "http"
    body = {"user": "ann", "password": PASSWORD}
    answer = await browser.post("/v1/sessions", json=body, headers=OURS)
    assert answer.status_code == 422 and answer.json()["code"] == "insecure"
    assert answer.json()["place"] == HEADER and "set-cookie" not in answer.headers


@pytest.mark.parametrize("said", FOREIGN[:5])
async def test_a_foreign_page_signs_nobody_in(browser: httpx.AsyncClient, said: dict[str, str]) -> None:
    answer = await browser.post("/v1/sessions", json={"user": "ann", "password": PASSWORD}, headers=said)
    assert "set-cookie" not in answer.headers and (HEADER not in said or answer.status_code == 403)


async def test_a_cookie_counts_for_no_foreign_page_at_any_operation(browser: httpx.AsyncClient) -> None:
    await signed_in(browser)

    async def status(row: Row, said: dict[str, str]) -> int:
        path, rest = filled(row, {})
        body = {"content": b"x"} if row.stream == "upload" else {"json" if row.has_body else "params": rest}
        async with browser.stream(row.verb, path, headers=said, **body) as answer:
            return answer.status_code

    # Each operation by a page of another site, and by each of the other ways in turn.
    turns = ((row, said) for at, row in enumerate(GUARDED) for said in (FOREIGN[0], FOREIGN[1 + at % 6]))
    wrong = [f"{row.name} by {said}" for row, said in turns if await status(row, said) != 401]
    assert not wrong
    no_effect = [row for row in GUARDED if row.verb == "GET"]
    assert not [row.name for row in no_effect if await status(row, OURS) in (401, 403)]
    plain = {"Sec-Fetch-Site": "same-origin"}
    assert not [row.name for row in no_effect if await status(row, plain) in (401, 403)]
    assert not [row.name for row in GUARDED if row.verb != "GET" and await status(row, plain) != 401]


async def test_a_cookie_holds_sessions_only_and_gives_way_to_a_token(
    gateway: Gateway, browser: httpx.AsyncClient
) -> None:
    browser.headers["Cookie"] = f"__Host-muster={gateway.admin_token}"
    assert (await browser.get("/v1/me", headers=OURS)).status_code == 401
    await signed_in(browser)
    bearer = {"Authorization": f"Bearer {gateway.admin_token}"}
    assert (await browser.get("/v1/me", headers=OURS | bearer)).json()["name"] == "admin"
    wrong = {"Authorization": "Bearer mst_wrong"}
    assert (await browser.get("/v1/me", headers=OURS | wrong)).status_code == 401


async def test_a_socket_takes_the_cookie_of_its_own_page_alone(
    gateway: Gateway, others: Others, browser: httpx.AsyncClient
) -> None:
    await signed_in(browser)
    cookie = PROXY | {"Cookie": browser.headers["Cookie"]}
    async with aiohttp.ClientSession(gateway.url) as session:
        own = cookie | {"Origin": f"https://{HOST}"}
        async with session.ws_connect("/v1/events", headers=own) as socket:
            assert (await socket.receive_json(timeout=TIMEOUT_S))["id"].isdecimal()
            async with gateway.client() as admin:
                made = await create(admin)
                assert (await admin.delete("/v1/users/ann/sessions")).status_code == 200
            versions = count(1)

            async def sees_no_more() -> bool:
                await others.announce("searcher", DEFAULT_TENANT, changed(made, next(versions)))
                return "unauthenticated" in await socket.receive_str(timeout=TIMEOUT_S)

            await eventually(sees_no_more)
        for said in ({"Origin": "https://evil.example"}, {}):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect("/v1/events", headers=cookie | said)
            assert refused.value.status == 401


async def test_another_password_ends_the_other_browsers(gateway: Gateway, browser: httpx.AsyncClient) -> None:
    async with gateway.client() as admin:
        await person(admin, "bea")
    async with gateway.client("") as here:
        for one in (browser, here):
            body = {"user": "bea", "password": PASSWORD}
            answer = await one.post("/v1/sessions", json=body, headers=OURS)
            one.headers["Cookie"] = answer.headers["set-cookie"].partition(";")[0]
            one.headers.update(OURS)
        change = {"old_password": PASSWORD, "new_password": OTHER}
        assert (await here.post("/v1/me/password", json=change)).status_code == 200
        await refused_within(browser, 5.0)
        assert (await here.get("/v1/me")).status_code == 200


async def test_the_log_tells_who_called_behind_the_proxy(
    gateway: Gateway, browser: httpx.AsyncClient
) -> None:
    browser.headers["X-Forwarded-For"] = "203.0.113.66, 198.51.100.9"
    made, _ = await signed_in(browser)
    assert made["address"] == "198.51.100.9", "what the caller wrote itself is not believed"
    row = next(one for one in OPERATIONS if one.name == "CreateGroup")
    request = MAPPER.message_type(row.request)(name="by-rpc")
    async with grpc.aio.insecure_channel(gateway.grpc_address) as channel:
        call = channel.unary_unary(
            f"/{FULL_NAME}/{row.name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=MAPPER.message_type(row.response).FromString,
        )
        bearer = ("authorization", f"Bearer {gateway.admin_token}")
        await call(request, metadata=(bearer, ("x-forwarded-for", "2001:db8::9")), timeout=TIMEOUT_S)

    async def are_logged() -> bool:
        async with gateway.client() as admin:
            items = (await admin.get("/v1/audit", params={"limit": 200})).json()["items"]
        known = {(one["operation"], one.get("address")) for one in items}
        return {("SignIn", "198.51.100.9"), ("CreateGroup", "2001:db8::9")} <= known

    await eventually(are_logged)


async def test_who_tries_passwords_behind_a_proxy_slows_nobody_else(browser: httpx.AsyncClient) -> None:
    async def attempt(address: str) -> int:
        """Of a sign-in with a provider that is away, which costs the least."""
        asked = {"provider": "here", "redirect": REDIRECT}
        answer = await browser.get("/v1/sign-in", params=asked, headers={"X-Forwarded-For": address})
        return answer.status_code

    tried = [await attempt(f"2001:db8:bad::{number:x}") for number in range(64)]
    assert tried[0] == 503 and tried[-1] == 429, "one network, one caller"
    assert await attempt("2001:db8:900d::1") == 503
    by_token = [
        await browser.post(
            "/v1/sign-in/token", json={"token": "mst_guessed"}, headers={"X-Forwarded-For": address}
        )
        for address in ("2001:db8:bad::1", "2001:db8:900d::1")
    ]
    assert [answer.status_code for answer in by_token] == [429, 401], "tokens are guessed no faster"
