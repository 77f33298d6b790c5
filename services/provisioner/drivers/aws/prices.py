"""Current AWS prices: on-demand from the price list, spot from each zone's history. Not used while the provisioner runs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

import orjson
from aiobotocore.session import get_session

from services.provisioner.drivers.aws.client import translated_errors
from services.provisioner.drivers.prices import Price
from shared.errors import Rejected

PRICE_LIST_REGION = "us-east-1"
"""Region whose endpoint serves the price list of all regions."""
_LINUX = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}


def open_price_list(endpoint: str | None = None) -> AbstractAsyncContextManager[Any]:
    """Return a client of the price list, as a context manager."""
    client: AbstractAsyncContextManager[Any] = get_session().create_client(
        "pricing", region_name=PRICE_LIST_REGION, endpoint_url=endpoint
    )
    return client


async def fetch_prices(
    ec2: Any, price_list: Any, region: str, kinds: Sequence[str], now: datetime
) -> list[Price]:
    """Return the prices of these kinds in each zone of the region that has them, by kind and zone.

    Raises:
        Rejected: AWS has no such kind there (`unknown_kind`), or refuses the query (AWS error code).
        Transient: AWS does not answer.
    """
    with translated_errors():
        return await _prices(ec2, price_list, region, kinds, now)


async def _prices(ec2: Any, price_list: Any, region: str, kinds: Sequence[str], now: datetime) -> list[Price]:
    zones = await _zones(ec2, kinds)
    for kind in kinds:
        if kind not in zones:
            raise Rejected("unknown_kind", f"AWS has no instance type {kind} in {region}", "kinds")
    spot = await _spot(ec2, kinds, now)
    on_demand = {kind: await _on_demand(price_list, region, kind) for kind in kinds}
    return [
        Price(kind, zone, on_demand[kind], spot.get((kind, zone)), now.date())
        for kind in kinds
        for zone in zones[kind]
    ]


async def _zones(ec2: Any, kinds: Sequence[str]) -> Mapping[str, list[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    filters = [{"Name": "instance-type", "Values": list(kinds)}]
    pages = ec2.get_paginator("describe_instance_type_offerings")
    async for page in pages.paginate(LocationType="availability-zone", Filters=filters):
        for one in page["InstanceTypeOfferings"]:
            found[one["InstanceType"]].add(one["Location"])
    return {kind: sorted(zones) for kind, zones in found.items()}


async def _spot(ec2: Any, kinds: Sequence[str], now: datetime) -> dict[tuple[str, str], float]:
    """Return the newest price of each kind and zone. A history that starts now contains only the present prices."""
    newest: dict[tuple[str, str], tuple[datetime, float]] = {}
    pages = ec2.get_paginator("describe_spot_price_history")
    asked = {"InstanceTypes": list(kinds), "ProductDescriptions": ["Linux/UNIX"], "StartTime": now}
    async for page in pages.paginate(**asked):
        for one in page["SpotPriceHistory"]:
            offer = one["InstanceType"], one["AvailabilityZone"]
            observed = one["Timestamp"], float(one["SpotPrice"])
            newest[offer] = max(newest.get(offer, observed), observed)
    return {offer: price for offer, (_, price) in newest.items()}


async def _on_demand(price_list: Any, region: str, kind: str) -> float | None:
    wanted = {**_LINUX, "regionCode": region, "instanceType": kind}
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in wanted.items()]
    prices: list[float] = []
    async for page in price_list.get_paginator("get_products").paginate(
        ServiceCode="AmazonEC2", Filters=filters
    ):
        for text in page["PriceList"]:
            prices += _hourly(orjson.loads(text))
    return min(prices, default=None)


def _hourly(product: Mapping[str, Any]) -> Iterator[float]:
    """Yield the hourly prices of a product's terms. Unused reserved capacity has price 0 and is skipped."""
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term.get("priceDimensions", {}).values():
            price = float(dimension.get("pricePerUnit", {}).get("USD", 0))
            if dimension.get("unit") == "Hrs" and price > 0:
                yield price
