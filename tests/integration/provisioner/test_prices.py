"""`muster prices` against moto's zones and spot prices, a price list that speaks as AWS's does, Google's catalogue, and a site's own file."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from deploy.prices.refresh import PriceEndpoints, RefreshOptions, refresh
from services.provisioner.pools.catalogue import CatalogueFile
from shared.errors import Rejected
from tests.integration.provisioner.renting import KEY
from tests.support.gcp_server import Project, write_key

CATALOGUE = """
kinds:
  - {name: g5.xlarge, provider: aws, slots: 1, gpu: A10G, prices: [{zone: us-east-1a, on_demand: 99.0, taken_per_hour: 0.05}, {zone: gone, spot: 1.0}]}
  - {name: a100-8, provider: cluster, slots: 8, prices: [{on_demand: 9.6}]}
"""

OF_GOOGLE = """
kinds:
  - {name: a2-highgpu-1g, provider: google, slots: 1, gpu: A100}
  - {name: n1-standard-8, provider: google, slots: 2, gpu: T4}
  - {name: a100-8, provider: cluster, slots: 8}
"""
TYPES: list[dict[str, Any]] = [
    {
        "name": "a2-highgpu-1g", "guestCpus": 12, "memoryMb": 85 * 1024,
        "accelerators": [{"guestAcceleratorType": "nvidia-tesla-a100", "guestAcceleratorCount": 1}],
    },
    {"name": "n1-standard-8", "guestCpus": 8, "memoryMb": 30 * 1024},
]  # fmt: skip


def _sku(description: str, rate: float, usage: str = "OnDemand") -> dict[str, Any]:
    tiers = [
        {"startUsageAmount": 0, "unitPrice": {"units": "0", "nanos": 0}},
        {"startUsageAmount": 1, "unitPrice": {"units": str(int(rate)), "nanos": round(rate % 1 * 1e9)}},
    ]
    pricing = [{"pricingExpression": {"tieredRates": tiers}}]
    label = f"{description} running in Americas"
    return {
        "description": label, "category": {"usageType": usage}, "serviceRegions": ["us-central1"], "pricingInfo": pricing,
    }  # fmt: skip


SKUS = [
    _sku("A2 Instance Core", 0.03),
    _sku("A2 Instance Ram", 0.004),
    _sku("Nvidia Tesla A100 GPU", 2.9),
    _sku("Nvidia Tesla A100 80GB GPU", 3.9),
    _sku("Spot Preemptible A2 Instance Core", 0.01, "Preemptible"),
    _sku("Spot Preemptible A2 Instance Ram", 0.001, "Preemptible"),
    _sku("Nvidia Tesla A100 GPU attached to Spot Preemptible VMs", 0.9, "Preemptible"),
    _sku("N1 Predefined Instance Core", 0.05),
    _sku("N1 Predefined Instance Ram", 0.006),
    _sku("Nvidia Tesla T4 GPU", 0.35),
    _sku("Commitment v1: A2 Cpu", 0.001, "Commit1Yr"),
    {"description": "Network Egress", "category": {"usageType": "OnDemand"}},
]


@pytest.fixture
def aws(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    return moto


@pytest.fixture
async def google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[str]:
    """Machine types and prices as Google's two services tell them, in two pages, and the token of an account."""

    async def types(request: web.Request) -> web.Response:
        named = request.query["filter"].partition('"')[2].rstrip('"')
        found = [one for one in TYPES if one["name"] == named]
        zones = {"zones/us-central1-a": {"machineTypes": found}, "zones/us-central1-b": {"warning": {}}}
        return web.json_response({"items": zones})

    async def skus(request: web.Request) -> web.Response:
        half = len(SKUS) // 2
        if "pageToken" in request.query:
            return web.json_response({"skus": SKUS[half:], "nextPageToken": ""})
        return web.json_response({"skus": SKUS[:half], "nextPageToken": "more"})

    async def token(request: web.Request) -> web.Response:
        return web.json_response({"access_token": "t", "expires_in": 3600})

    application = web.Application()
    application.router.add_get("/projects/research/aggregated/machineTypes", types)
    application.router.add_get("/services/{service}/skus", skus)
    application.router.add_post("/token", token)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(write_key(Project(url=url), tmp_path)))
    yield url
    await runner.cleanup()


@pytest.fixture
async def price_list() -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        asked = json.loads(await request.text())
        wanted = {one["Field"]: one["Value"] for one in asked["Filters"]}
        assert request.headers["X-Amz-Target"] == "AWSPriceListService.GetProducts"
        assert (wanted["regionCode"], wanted["operatingSystem"]) == ("us-east-1", "Linux")
        if "NextToken" not in asked:
            return _page([_product(0.0)], NextToken="more")
        return _page([_product(1.006)])

    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_prices_are_brought_and_the_rest_of_the_catalogue_stays(
    aws: str, price_list: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wish = _wish(tmp_path, aws)
    await asyncio.to_thread(lambda: refresh(wish, as_json=True, at=PriceEndpoints(price_list)))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    zones = [one["zone"] for one in lines]
    assert "us-east-1a" in zones and zones == sorted(zones)
    g5, a100 = yaml.safe_load(wish.catalogue.read_text())["kinds"]
    assert a100["prices"] == [{"on_demand": 9.6}]
    by_zone = {price["zone"]: price for price in g5["prices"]}
    assert by_zone.keys() == set(zones), "a zone that AWS no longer names is gone"
    assert by_zone["us-east-1a"]["on_demand"] == 1.006
    assert by_zone["us-east-1a"]["taken_per_hour"] == 0.05
    assert by_zone["us-east-1a"]["spot"] > 0
    today = datetime.now(UTC).date()
    assert {price["as_of"] for price in g5["prices"]} == {today}
    (offer,) = [one for one in CatalogueFile(wish.catalogue).now().offers if one.price_per_hour == 9.6]
    assert offer.priced_on is None, "a price that somebody wrote without a day has none"


async def test_nothing_is_written_when_it_is_only_tried(aws: str, price_list: str, tmp_path: Path) -> None:
    wish = _wish(tmp_path, aws, dry_run=True)
    await asyncio.to_thread(lambda: refresh(wish, as_json=False, at=PriceEndpoints(price_list)))
    assert wish.catalogue.read_text() == CATALOGUE


async def test_google_cloud_sells_parts_and_clusters_cost_what_their_site_says(
    google: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wish = _wish(tmp_path, google)
    wish.catalogue.write_text(OF_GOOGLE)
    own = tmp_path / "own.yaml"
    own.write_text("as_of: 2026-11-01\nkinds: {a100-8: {on_demand: 9.6, spot: 4.0}}")
    gcp = {"type": "gcp", "project": "research", "image": "i", "endpoint": google}
    gcp["gpus"] = {"n1-standard-8": {"type": "nvidia-tesla-t4", "count": 2}}  # type: ignore[assignment]
    providers = {"google": gcp, "cluster": {"type": "slurm", "prices": str(own)}}
    wish.providers.write_text(json.dumps({"site": "tests", "providers": providers}))
    await asyncio.to_thread(lambda: refresh(wish, as_json=False, at=PriceEndpoints(billing=google)))
    kinds = {kind["name"]: kind["prices"] for kind in yaml.safe_load(wish.catalogue.read_text())["kinds"]}
    (a2,) = kinds["a2-highgpu-1g"]
    assert a2["zone"] == "us-central1-a"
    assert a2["on_demand"] == pytest.approx(12 * 0.03 + 85 * 0.004 + 1 * 2.9)
    assert a2["spot"] == pytest.approx(12 * 0.01 + 85 * 0.001 + 1 * 0.9)
    (n1,) = kinds["n1-standard-8"]
    assert n1["on_demand"] == pytest.approx(8 * 0.05 + 30 * 0.006 + 2 * 0.35)
    assert "spot" not in n1, "a part without a rate leaves it without a price"
    assert kinds["a100-8"] == [{"on_demand": 9.6, "spot": 4.0, "as_of": date(2026, 11, 1)}]
    assert (
        "cluster a100-8: on demand 9.6000, spot 4.0000 an hour, as of 2026-11-01" in capsys.readouterr().out
    )


async def test_a_machine_type_that_google_does_not_know_is_named(google: str, tmp_path: Path) -> None:
    wish = _wish(tmp_path, google)
    wish.catalogue.write_text("kinds: [{name: a9-none, provider: google, slots: 1}]")
    gcp = {"type": "gcp", "project": "research", "image": "i", "endpoint": google}
    wish.providers.write_text(json.dumps({"site": "tests", "providers": {"google": gcp}}))
    with pytest.raises(Rejected, match="a9-none"):
        await asyncio.to_thread(lambda: refresh(wish, as_json=False, at=PriceEndpoints(billing=google)))


def test_a_provider_that_tells_no_prices_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="there are: aws"):
        refresh(_wish(tmp_path, "http://127.0.0.1:9", provider="cluster"), as_json=False)


def _wish(folder: Path, endpoint: str, provider: str | None = None, dry_run: bool = False) -> RefreshOptions:
    catalogue, providers = folder / "catalogue.yaml", folder / "providers.yaml"
    catalogue.write_text(CATALOGUE)
    aws = {"type": "aws", "region": "us-east-1", "image": "ami-1", "endpoint": endpoint}
    providers.write_text(
        json.dumps({"site": "tests", "providers": {"aws": aws, "cluster": {"type": "slurm"}}})
    )
    return RefreshOptions(catalogue, providers, provider, dry_run)


def _product(price: float) -> dict[str, Any]:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price:.10f}"}}
    return {"terms": {"OnDemand": {"SKU.TERM": {"priceDimensions": {"SKU.TERM.RATE": dimension}}}}}


def _page(products: list[dict[str, Any]], **more: str) -> web.Response:
    body = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in products], **more}
    return web.Response(text=json.dumps(body), headers={"Content-Type": "application/x-amz-json-1.1"})
