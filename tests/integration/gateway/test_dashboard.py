"""The dashboard's files: who asks for them need not be known, they show nothing of anybody, and nothing in them runs but what was built."""

import gzip
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from services.gateway.transports.rest.dashboard import load_dashboard
from tests.integration.gateway.conftest import start_gateway, stop_gateway

PAGE = b"<!doctype html><title>Muster</title>"
SCRIPT = b"document.title = 'here'"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small build beside a file that is none of it."""
    root = tmp_path_factory.mktemp("site") / "dist"
    (root / "assets").mkdir(parents=True)
    (root / ".vite").mkdir()
    (root / "index.html").write_bytes(PAGE)
    (root / "assets" / "index-a1.js").write_bytes(SCRIPT)
    (root / "assets" / "index-a1.js.gz").write_bytes(gzip.compress(SCRIPT))
    (root / "favicon.svg").write_bytes(b"<svg/>")
    (root / ".vite" / "manifest.json").write_bytes(b"{}")
    (root / "routes.json").write_bytes(b'{"rooms": ["experiments", "models"]}')
    (root.parent / "secret").write_bytes(b"secret")
    return root


@pytest.fixture(scope="module")
async def site(
    settings: Callable[[str], dict[str, str]], built: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[httpx.AsyncClient]:
    found = await start_gateway(
        settings("gateway"), tmp_path_factory.mktemp("doors"), MUSTER_GATEWAY__WEB_DIRECTORY=str(built)
    )
    async with found.client("") as anybody:
        yield anybody
    await stop_gateway(found)


@pytest.mark.parametrize("path", ["/", "/experiments", "/experiments/31/trials", "/models/a%2Fb"])
async def test_every_address_of_the_application_opens_its_page(site: httpx.AsyncClient, path: str) -> None:
    page = await site.get(path)
    assert page.status_code == 200 and page.content == PAGE
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache", "an upgrade is seen at the next load"
    assert (await site.head(path)).status_code == 200


async def test_nothing_runs_on_the_page_but_what_was_built(site: httpx.AsyncClient) -> None:
    policy = (await site.get("/")).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy and "unsafe" not in policy and "http" not in policy


async def test_files_named_by_what_they_hold_are_kept_and_come_compressed(site: httpx.AsyncClient) -> None:
    plain = await site.get("/assets/index-a1.js", headers={"Accept-Encoding": "identity"})
    assert plain.content == SCRIPT and "content-encoding" not in plain.headers
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
    assert plain.headers["x-content-type-options"] == "nosniff"
    small = await site.get("/assets/index-a1.js", headers={"Accept-Encoding": "br, gzip"})
    assert small.headers["content-encoding"] == "gzip" and small.content == SCRIPT
    assert small.headers["vary"] == "Accept-Encoding"
    assert (await site.get("/favicon.svg")).headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/index-b2.js",
        "/assets/index-a1.js.gz",
        "/assets/..%2f..%2fsecret",
        "/routes.json",
        "/index.html",
        "/.vite/manifest.json",
        "/trials",
        "/experimentsx",
        "/v1/experimentz",
    ],
)
async def test_no_other_path_is_answered_with_it(site: httpx.AsyncClient, path: str) -> None:
    answer = await site.get(path)
    assert answer.status_code == 404 and answer.json()["code"] == "not_found"


async def test_operations_and_their_page_stay_what_they_are(site: httpx.AsyncClient) -> None:
    assert (await site.get("/v1/experiments")).status_code == 401
    assert (await site.post("/experiments")).status_code == 405
    assert "swagger" in (await site.get("/docs")).text


def test_a_directory_that_holds_no_build_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_dashboard(tmp_path)
