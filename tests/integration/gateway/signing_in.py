"""The steps of a sign-in with a provider, as a browser and the command line take them."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

REDIRECT = "http://127.0.0.1:5000/signed-in"


async def begin(anyone: httpx.AsyncClient, provider: str, redirect: str = REDIRECT) -> dict[str, Any]:
    answer = await anyone.get("/v1/sign-in", params={"provider": provider, "redirect": redirect})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def at_mock(begun: dict[str, Any], who: str) -> dict[str, str]:
    """What the browser brings back after somebody has signed in there."""
    async with httpx.AsyncClient() as browser:
        answer = await browser.post(begun["url"], data={"sub": who})
    assert answer.status_code == 302, answer.text
    address = urlsplit(answer.headers["location"])
    assert f"{address.scheme}://{address.netloc}{address.path}" == REDIRECT
    return {name: values[0] for name, values in parse_qs(address.query).items()}


async def finish(anyone: httpx.AsyncClient, begun: dict[str, Any], came: dict[str, str]) -> httpx.Response:
    body = {"ticket": begun["ticket"], "state": came["state"], "code": came["code"]}
    return await anyone.post(
        "/v1/sign-in/finish", json=body | ({"iss": came["iss"]} if "iss" in came else {})
    )
