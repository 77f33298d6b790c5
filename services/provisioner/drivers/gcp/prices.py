"""Current Google Cloud prices, from the Cloud Billing catalogue.

Google prices the parts of machine types by the hour: cores, memory and GPUs, each by family and region. A machine
costs the sum of its parts; it has no price here if the catalogue lacks one of them.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

import aiohttp

from services.provisioner.drivers.gcp.request import GpuOf
from services.provisioner.drivers.gcp.tokens import Tokens
from services.provisioner.drivers.prices import Price
from services.provisioner.drivers.rest import HttpRequest, Json, exchange
from shared.errors import Rejected

BILLING_URL = "https://cloudbilling.googleapis.com/v1"
BILLING_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
COMPUTE_ENGINE = "6F81-5844-456A"
"""Id of the service in the billing catalogue."""
_SPOT = "spot preemptible "
_MIB_PER_GIB = 1024
Usage = Literal["OnDemand", "Preemptible"]


@dataclass(frozen=True, slots=True)
class MachineType:
    """The parts of a machine type. `gpu` is the name of an accelerator type, such as `nvidia-tesla-t4`."""

    name: str
    zone: str
    cores: int
    memory_gib: float
    gpu: str | None = None
    gpus: int = 0

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]

    @property
    def region(self) -> str:
        return self.zone.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Rates:
    """Hourly prices of parts by region, usage and name, such as `a2 instance core`."""

    of: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    def price_of(self, machine: MachineType, usage: Usage) -> float | None:
        """Return the sum of the machine's parts; None if one of them has no price."""
        parts = [
            (machine.cores, self._of_family(machine, usage, "core")),
            (machine.memory_gib, self._of_family(machine, usage, "ram")),
        ]
        if machine.gpu is not None:
            parts.append((machine.gpus, self._of_gpu(machine, usage, machine.gpu)))
        if any(rate is None for _, rate in parts):
            return None
        return round(sum(count * rate for count, rate in parts if rate is not None), 6)

    def _of_family(self, machine: MachineType, usage: Usage, part: str) -> float | None:
        names = (f"{machine.family} instance {part}", f"{machine.family} predefined instance {part}")
        found = (self.of.get((machine.region, usage, name)) for name in names)
        return next((rate for rate in found if rate is not None), None)

    def _of_gpu(self, machine: MachineType, usage: Usage, gpu: str) -> float | None:
        """Return the price with the shortest name that contains all words of the type, so that an 80 GB A100 does not match others."""
        wanted = {*gpu.split("-"), "gpu"}
        names = [
            name
            for region, used, name in self.of
            if (region, used) == (machine.region, usage) and wanted <= set(name.split())
        ]
        return self.of[machine.region, usage, min(names, key=len)] if names else None


def rates_of(skus: Iterable[Json]) -> Rates:
    """Return the catalogue's entries for parts of machines, without commitments and reservations."""
    found: dict[tuple[str, str, str], float] = {}
    for sku in skus:
        usage = sku.get("category", {}).get("usageType")
        label, runs, _ = str(sku.get("description", "")).lower().partition(" running in ")
        rate = _hourly(sku)
        if usage not in ("OnDemand", "Preemptible") or not runs or rate is None:
            continue
        for region in sku.get("serviceRegions", ()):
            found[region, usage, label.removeprefix(_SPOT)] = rate
    return Rates(found)


async def fetch_prices(
    catalogue: "PriceCatalogue", kinds: Sequence[str], gpus: Mapping[str, GpuOf], today: date
) -> list[Price]:
    """Return the prices of these kinds in each zone that has them, by kind and zone.

    `gpus` are those added to machines of a kind.

    Raises:
        Rejected: Google has no such kind (`unknown_kind`), or refuses the query (`no_prices`).
        Transient: Google does not answer.
    """
    machines = [one for kind in kinds async for one in catalogue.machine_types(kind, gpus.get(kind))]
    for kind in kinds:
        if kind not in {machine.name for machine in machines}:
            raise Rejected("unknown_kind", f"Google Cloud has no machine type {kind}", "kinds")
    rates = rates_of([sku async for sku in catalogue.skus()])
    return [
        Price(
            machine.name,
            machine.zone,
            rates.price_of(machine, "OnDemand"),
            rates.price_of(machine, "Preemptible"),
            today,
        )
        for machine in sorted(machines, key=lambda one: (kinds.index(one.name), one.zone))
    ]


@dataclass(frozen=True, slots=True)
class PriceCatalogue:
    """Google's catalogues of machine types and prices."""

    session: aiohttp.ClientSession
    tokens: Tokens
    compute_url: str
    billing_url: str = BILLING_URL

    async def machine_types(self, kind: str, gpu: GpuOf | None) -> AsyncIterator[MachineType]:
        """Yield the machine type in every zone that has it. `compute_url` ends with the project."""
        url = f"{self.compute_url}/aggregated/machineTypes"
        async for page in self._pages(url, {"filter": f'name = "{kind}"'}):
            for zone, found in page.get("items", {}).items():
                for one in found.get("machineTypes", ()):
                    yield _machine_type(one, zone.removeprefix("zones/"), gpu)

    async def skus(self) -> AsyncIterator[Json]:
        """Yield all SKUs of Compute Engine."""
        url = f"{self.billing_url}/services/{COMPUTE_ENGINE}/skus"
        async for page in self._pages(url, {"currencyCode": "USD", "pageSize": "5000"}):
            for sku in page.get("skus", ()):
                yield sku

    async def _pages(self, url: str, query: dict[str, str]) -> AsyncIterator[Json]:
        while True:
            headers = {"Authorization": f"Bearer {await self.tokens.get()}"}
            answer = await exchange(self.session, HttpRequest("GET", url, headers, query), "Google Cloud")
            if answer.status != 200:
                reason = answer.content.get("error", {}).get("message") or answer.text
                raise Rejected("no_prices", f"Google Cloud returned no prices: {reason} ({answer.status})")
            yield answer.content
            if not (token := answer.content.get("nextPageToken")):
                return
            query = {**query, "pageToken": token}


def _machine_type(one: Json, zone: str, gpu: GpuOf | None) -> MachineType:
    brought = next(iter(one.get("accelerators", ())), None)
    of_type = brought["guestAcceleratorType"] if brought else gpu.type if gpu else None
    count = brought["guestAcceleratorCount"] if brought else gpu.count if gpu else 0
    return MachineType(one["name"], zone, one["guestCpus"], one["memoryMb"] / _MIB_PER_GIB, of_type, count)


def _hourly(sku: Json) -> float | None:
    """Return the last tier's price; an initial free tier is no price."""
    for pricing in sku.get("pricingInfo", ()):
        for tier in reversed(pricing.get("pricingExpression", {}).get("tieredRates", ())):
            price = tier.get("unitPrice", {})
            return int(price.get("units") or 0) + int(price.get("nanos") or 0) / 1e9
    return None
