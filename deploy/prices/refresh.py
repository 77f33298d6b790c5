"""Implements `muster prices`: queries each provider for the prices of the catalogue's kinds, and rewrites the file. The provisioner reloads it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from muster.errors import Rejected, Transient
from services.provisioner.drivers.aws import prices as aws
from services.provisioner.drivers.aws.client import open_client
from services.provisioner.drivers.aws.prices import open_price_list
from services.provisioner.drivers.gcp import prices as gcp
from services.provisioner.drivers.gcp.api import URL as COMPUTE_URL
from services.provisioner.drivers.gcp.request import GpuOf
from services.provisioner.drivers.gcp.tokens import Tokens
from services.provisioner.drivers.prices import Price, read_prices
from services.provisioner.pools.catalogue import read_catalogue
from services.provisioner.providers.config import (
    AwsEntry,
    GcpEntry,
    KubernetesEntry,
    ProviderEntry,
    SlurmEntry,
    read_providers,
)
from shared.clock import SystemClock

Entries = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    """The options of the command. `provider` None: every one that publishes prices."""

    catalogue: Path
    providers: Path
    provider: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class PriceEndpoints:
    """Addresses of AWS's price list and Google's catalogue, if not the usual ones."""

    price_list: str | None = None
    billing: str | None = None


def refresh(options: RefreshOptions, *, as_json: bool, at: PriceEndpoints = PriceEndpoints()) -> None:
    """Replace the prices, and print the price of each kind and zone with its date."""
    text = _read(options.catalogue)
    read_catalogue(text)  # rejects what the provisioner would reject, before any query
    before: Entries = yaml.safe_load(text) or {}
    found = asyncio.run(_ask(_asked(options), before, at))
    after = replaced(before, found)
    for provider, prices in found.items():
        for one in prices:
            print(json.dumps(_to_json(provider, one)) if as_json else _line(provider, one), flush=True)
    if not options.dry_run:
        _write(options.catalogue, yaml.safe_dump(after, sort_keys=False, allow_unicode=True))


def replaced(entries: Entries, found: Mapping[str, Sequence[Price]]) -> Entries:
    """Return the catalogue with these prices, by provider, in place of earlier ones of the same kinds; keep a zone's `taken_per_hour`."""
    kinds = []
    for kind in entries.get("kinds", ()):
        prices = [one for one in found.get(kind["provider"], ()) if one.kind == kind["name"]]
        known = {price.get("zone"): price for price in kind.get("prices", ())}
        rates = {zone: price["taken_per_hour"] for zone, price in known.items() if "taken_per_hour" in price}
        kinds.append({**kind, "prices": [_entry(one, rates) for one in prices]} if prices else kind)
    return {**entries, "kinds": kinds}


def _asked(options: RefreshOptions) -> dict[str, ProviderEntry]:
    """Return the providers that publish prices: clouds, and clusters with a price file."""
    entries = read_providers(_read(options.providers)).providers
    with_prices = {name: one for name, one in entries.items() if _has_prices(one)}
    if options.provider is not None and options.provider not in with_prices:
        message = f"{options.providers} has no provider '{options.provider}' that publishes prices"
        hint = f"there are: {', '.join(with_prices) or 'none'}; set `prices` of a cluster to a price file"
        raise Rejected("no_provider", message, "provider", hint)
    return {name: one for name, one in with_prices.items() if options.provider in (None, name)}


def _has_prices(entry: ProviderEntry) -> bool:
    return isinstance(entry, AwsEntry | GcpEntry) or entry.prices is not None


async def _ask(
    providers: Mapping[str, ProviderEntry], entries: Entries, at: PriceEndpoints
) -> dict[str, list[Price]]:
    found = {}
    for name, entry in providers.items():
        kinds = [kind["name"] for kind in entries.get("kinds", ()) if kind["provider"] == name]
        if kinds:
            found[name] = await _prices(entry, kinds, at)
    return found


async def _prices(entry: ProviderEntry, kinds: list[str], at: PriceEndpoints) -> list[Price]:
    clock = SystemClock()
    match entry:
        case AwsEntry():
            async with (
                open_client(entry.region, None, entry.endpoint) as ec2,
                open_price_list(at.price_list) as prices,
            ):
                return await aws.fetch_prices(ec2, prices, entry.region, kinds, clock.now())
        case GcpEntry():
            async with aiohttp.ClientSession() as session:
                tokens = Tokens(entry.key_file, gcp.BILLING_SCOPE)
                compute = f"{(entry.endpoint or COMPUTE_URL).rstrip('/')}/projects/{entry.project}"
                catalogue = gcp.PriceCatalogue(session, tokens, compute, at.billing or gcp.BILLING_URL)
                gpus = {kind: GpuOf(gpu.type, gpu.count) for kind, gpu in entry.gpus.items()}
                return await gcp.fetch_prices(catalogue, kinds, gpus, clock.now().date())
        case SlurmEntry() | KubernetesEntry():
            return read_prices(entry.prices, kinds) if entry.prices else []


def _entry(price: Price, taken: Mapping[str | None, float]) -> Entries:
    entry = {
        "zone": price.zone,
        "on_demand": price.on_demand,
        "spot": price.spot,
        "taken_per_hour": taken.get(price.zone),
        "as_of": price.as_of,
    }
    return {name: value for name, value in entry.items() if value is not None}


def _to_json(provider: str, price: Price) -> Entries:
    ids = {"provider": provider, "kind": price.kind, "zone": price.zone}
    return {**ids, "on_demand": price.on_demand, "spot": price.spot, "as_of": price.as_of.isoformat()}


def _line(provider: str, price: Price) -> str:
    parts = [
        f"{way} {value:.4f}" for way, value in (("on demand", price.on_demand), ("spot", price.spot)) if value
    ]
    where = f" in {price.zone}" if price.zone else ""
    return (
        f"{provider} {price.kind}{where}: {', '.join(parts) or 'no price known'} an hour, as of {price.as_of}"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise Rejected("file_unreadable", f"{path} cannot be read: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    """Replace the file atomically: the provisioner never reads half of it."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text)
        beside.replace(path)
    except OSError as error:
        raise Transient(f"{path} could not be written: {error.strerror}", code="file_unwritable") from error
