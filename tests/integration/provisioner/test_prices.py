"""`muster prices` against moto's zones and spot prices, and a price list that speaks as AWS's does."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from deploy.prices.refresh import Wish, refresh
from shared.errors import Rejected
from tests.integration.provisioner.renting import KEY

CATALOGUE = """
kinds:
  - {name: g5.xlarge, provider: aws, slots: 1, gpu: A10G, prices: [{zone: us-east-1a, on_demand: 99.0, taken_per_hour: 0.05}, {zone: gone, spot: 1.0}]}
  - {name: a100-8, provider: cluster, slots: 8, prices: [{on_demand: 9.6}]}
"""


@pytest.fixture
def aws(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    return moto


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
    await asyncio.to_thread(lambda: refresh(wish, as_json=True, price_list=price_list))
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    zones = [one["zone"] for one in told]
    assert "us-east-1a" in zones and zones == sorted(zones)
    g5, a100 = yaml.safe_load(wish.catalogue.read_text())["kinds"]
    assert a100["prices"] == [{"on_demand": 9.6}]
    by_zone = {price["zone"]: price for price in g5["prices"]}
    assert by_zone.keys() == set(zones), "a zone that AWS no longer names is gone"
    assert by_zone["us-east-1a"]["on_demand"] == 1.006
    assert by_zone["us-east-1a"]["taken_per_hour"] == 0.05
    assert by_zone["us-east-1a"]["spot"] > 0


async def test_nothing_is_written_when_it_is_only_tried(aws: str, price_list: str, tmp_path: Path) -> None:
    wish = _wish(tmp_path, aws, dry_run=True)
    await asyncio.to_thread(lambda: refresh(wish, as_json=False, price_list=price_list))
    assert wish.catalogue.read_text() == CATALOGUE


def test_a_provider_that_is_not_of_aws_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="there are: aws"):
        refresh(_wish(tmp_path, "http://127.0.0.1:9", provider="cluster"), as_json=False)


def _wish(folder: Path, endpoint: str, provider: str | None = None, dry_run: bool = False) -> Wish:
    catalogue, providers = folder / "catalogue.yaml", folder / "providers.yaml"
    catalogue.write_text(CATALOGUE)
    aws = {"type": "aws", "region": "us-east-1", "image": "ami-1", "endpoint": endpoint}
    providers.write_text(
        json.dumps({"site": "tests", "providers": {"aws": aws, "cluster": {"type": "slurm"}}})
    )
    return Wish(catalogue, providers, provider, dry_run)


def _product(price: float) -> dict[str, Any]:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price:.10f}"}}
    return {"terms": {"OnDemand": {"SKU.TERM": {"priceDimensions": {"SKU.TERM.RATE": dimension}}}}}


def _page(products: list[dict[str, Any]], **more: str) -> web.Response:
    body = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in products], **more}
    return web.Response(text=json.dumps(body), headers={"Content-Type": "application/x-amz-json-1.1"})
