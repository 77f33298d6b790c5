"""What the command does: asks AWS for the prices of the catalogue's kinds, and writes the file anew. The provisioner sees that it has changed."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from muster.errors import Rejected, Transient
from services.provisioner.catalogue import read_catalogue
from services.provisioner.drivers.aws.connection import open_client
from services.provisioner.drivers.aws.prices import Price, fetch_prices, open_price_list
from services.provisioner.providers.entries import AwsEntry, read_providers
from shared.clock import SystemClock

Entries = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for. `provider` None: every one of AWS."""

    catalogue: Path
    providers: Path
    provider: str | None
    dry_run: bool


def refresh(wish: Wish, *, as_json: bool, price_list: str | None = None) -> None:
    """Replace the prices, saying of each kind and zone what it costs now. `price_list`: where AWS's is, if not at its usual address."""
    text = _read(wish.catalogue)
    read_catalogue(text)  # refuses what the provisioner would refuse, before anybody is asked
    before: Entries = yaml.safe_load(text) or {}
    found = asyncio.run(_ask(_regions(wish), before, price_list))
    after = replaced(before, found)
    for provider, prices in found.items():
        for one in prices:
            print(json.dumps(_said(provider, one)) if as_json else _line(provider, one), flush=True)
    if not wish.dry_run:
        _write(wish.catalogue, yaml.safe_dump(after, sort_keys=False, allow_unicode=True))


def replaced(entries: Entries, found: Mapping[str, Sequence[Price]]) -> Entries:
    """The catalogue with these prices, by provider, in place of those it had for the same kinds; `taken_per_hour` of a zone stays."""
    kinds = []
    for kind in entries.get("kinds", ()):
        prices = [one for one in found.get(kind["provider"], ()) if one.kind == kind["name"]]
        known = {price.get("zone"): price for price in kind.get("prices", ())}
        kept = {zone: price["taken_per_hour"] for zone, price in known.items() if "taken_per_hour" in price}
        kinds.append({**kind, "prices": [_entry(one, kept) for one in prices]} if prices else kind)
    return {**entries, "kinds": kinds}


def _regions(wish: Wish) -> dict[str, AwsEntry]:
    entries = read_providers(_read(wish.providers)).providers
    if wish.provider is not None and not isinstance(entries.get(wish.provider), AwsEntry):
        known = ", ".join(name for name, one in entries.items() if isinstance(one, AwsEntry)) or "none"
        message = f"{wish.providers} has no provider '{wish.provider}' of type aws"
        raise Rejected(
            "no_provider", message, "provider", f"there are: {known}; prices of others are written by hand"
        )
    return {
        name: one
        for name, one in entries.items()
        if isinstance(one, AwsEntry) and wish.provider in (None, name)
    }


async def _ask(
    regions: Mapping[str, AwsEntry], entries: Entries, price_list: str | None
) -> dict[str, list[Price]]:
    found = {}
    now = SystemClock().now()
    for name, entry in regions.items():
        kinds = [kind["name"] for kind in entries.get("kinds", ()) if kind["provider"] == name]
        if not kinds:
            continue
        async with (
            open_client(entry.region, None, entry.endpoint) as ec2,
            open_price_list(price_list) as prices,
        ):
            found[name] = await fetch_prices(ec2, prices, entry.region, kinds, now)
    return found


def _entry(price: Price, taken: Mapping[str | None, float]) -> Entries:
    entry = {
        "zone": price.zone,
        "on_demand": price.on_demand,
        "spot": price.spot,
        "taken_per_hour": taken.get(price.zone),
    }
    return {name: value for name, value in entry.items() if value is not None}


def _said(provider: str, price: Price) -> Entries:
    places = {"provider": provider, "kind": price.kind, "zone": price.zone}
    return {**places, "on_demand": price.on_demand, "spot": price.spot}


def _line(provider: str, price: Price) -> str:
    told = [
        f"{way} {value:.4f}" for way, value in (("on demand", price.on_demand), ("spot", price.spot)) if value
    ]
    return f"{provider} {price.kind} in {price.zone}: {', '.join(told) or 'nothing is known'} USD an hour"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise Rejected("file_unreadable", f"{path} cannot be read: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    """In one step: the provisioner never sees half a file."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text)
        beside.replace(path)
    except OSError as error:
        raise Transient(f"{path} could not be written: {error.strerror}", code="file_unwritable") from error
