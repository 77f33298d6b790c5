"""Saved views: each person's own, wherever that person signs in."""

import httpx

from services.gateway.saved_views.schema import MOST_VIEWS
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.sites import user

PATH = "/v1/views"


async def listed(api: httpx.AsyncClient) -> dict[str, str]:
    answer = await api.get(PATH)
    assert answer.status_code == 200, answer.text
    return {one["name"]: one["address"] for one in answer.json()["items"]}


async def test_a_view_is_kept_replaced_and_forgotten(api: httpx.AsyncClient, gateway: Gateway) -> None:
    secret = await user(api, "keeper", "viewer")
    again = (await api.post("/v1/users/keeper/tokens", json={"name": "elsewhere"})).json()["secret"]
    async with gateway.client(secret) as mine, gateway.client(again) as same:
        for name, address in (("b", "/experiments"), ("a b", "/models"), ("b", "/experiments?filter=x")):
            saved = await mine.put(PATH, json={"name": name, "address": address})
            assert saved.status_code == 200 and saved.json()["address"] == address, saved.text
        assert list((await listed(same)).items()) == [("a b", "/models"), ("b", "/experiments?filter=x")]
        assert (await same.delete(f"{PATH}/a%20b")).status_code == 200
        assert list(await listed(mine)) == ["b"]
        assert (await mine.delete(f"{PATH}/a%20b")).status_code == 404


async def test_who_has_a_token_alone_finds_views_again(gateway: Gateway) -> None:
    """The first admin's token is nobody's: a session that stands for it ends, and the next one has the views still."""
    async with gateway.client("") as anyone:

        async def signed_in() -> str:
            answer = await anyone.post("/v1/sign-in/token", json={"token": gateway.admin_token})
            secret: str = answer.json()["secret"]
            return secret

        async with gateway.client(await signed_in()) as first:
            await first.put(PATH, json={"name": "first", "address": "/cluster"})
        async with gateway.client(await signed_in()) as second:
            assert (await listed(second))["first"] == "/cluster"


async def test_nobody_else_has_it(api: httpx.AsyncClient, gateway: Gateway) -> None:
    """Not the admin of the same tenant either: a name of another's is as free as one that nobody took."""
    async with gateway.client(await user(api, "quiet", "viewer")) as mine:
        await mine.put(PATH, json={"name": "hidden", "address": "/experiments"})
        assert "hidden" not in await listed(api)
        assert (await api.delete(f"{PATH}/hidden")).status_code == 404
        await api.put(PATH, json={"name": "hidden", "address": "/models"})
        assert await listed(mine) == {"hidden": "/experiments"}


async def test_what_leads_elsewhere_and_too_many_are_refused(
    api: httpx.AsyncClient, gateway: Gateway
) -> None:
    async with gateway.client(await user(api, "collector", "viewer")) as mine:
        for address in ("https://example.invalid/", "//example.invalid/x", "experiments", "/", "/a b"):
            refused = await mine.put(PATH, json={"name": "x", "address": address})
            assert refused.status_code in (400, 422) and refused.json()["place"] == "address", address
        for number in range(MOST_VIEWS):
            await mine.put(PATH, json={"name": str(number), "address": "/experiments"})
        refused = await mine.put(PATH, json={"name": "one more", "address": "/experiments"})
        assert (refused.status_code, refused.json()["code"]) == (409, "too_many_views")
        assert (await mine.put(PATH, json={"name": "7", "address": "/models"})).status_code == 200
