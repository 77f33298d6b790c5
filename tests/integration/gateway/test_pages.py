"""The API's page, and what paths say to methods that they do not take."""

import re

import httpx
import pytest

from tests.integration.gateway.conftest import Gateway


async def test_the_page_of_the_api_loads_nothing_from_elsewhere(gateway: Gateway) -> None:
    async with gateway.client("") as anybody:
        page = await anybody.get("/docs")
        assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
        named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert len(named) == 4 and "default-src 'self'" in page.headers["content-security-policy"]
        for path in named:
            file = await anybody.get(path)
            assert file.status_code == 200 and len(file.content) > 100, path
        assert '"/openapi.json"' in (await anybody.get("/docs/start.js")).text


@pytest.mark.parametrize("name", ["..%2f..%2fpyproject.toml", "index.html", "swagger-ui.css.map"])
async def test_no_other_file_is_given_away(gateway: Gateway, name: str) -> None:
    async with gateway.client("") as anybody:
        assert (await anybody.get(f"/docs/{name}")).status_code == 404


async def test_a_refused_method_names_those_that_are_taken(api: httpx.AsyncClient) -> None:
    refused = await api.put("/v1/experiments", json={})
    assert refused.status_code == 405 and refused.json()["code"] == "method_not_allowed"
    assert refused.headers["allow"] == "GET,HEAD,POST"
