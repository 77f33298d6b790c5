"""Machine kinds and their offers with prices. `services/provisioner/pools/catalogue.py` reads them from a file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import get_close_matches
from typing import Literal

from muster.errors import Rejected
from shared.messages.trial_specs import SlotKind

Purchase = Literal["on_demand", "spot"]


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A machine kind as its provider names it. `memory_gib` is that of one GPU, or of the machine if it has no GPU."""

    name: str
    provider: str
    slots: int
    slot_kind: SlotKind
    gpu: str | None = None
    memory_gib: float | None = None
    boot_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A machine kind that is offered in a zone.

    Attributes:
        zone: None if its provider has no zones.
        price_per_hour: None if the price is unknown.
        interruptions_per_hour: Known rate of spot interruptions.
        priced_on: Day of the price.
    """

    kind: MachineKind
    zone: str | None = None
    purchase: Purchase = "on_demand"
    price_per_hour: float | None = None
    interruptions_per_hour: float = 0.0
    priced_on: date | None = None

    @property
    def price_per_slot_hour(self) -> float | None:
        """None if the price is unknown or zero; no price is published then."""
        return (self.price_per_hour or 0.0) / self.kind.slots or None

    @property
    def label(self) -> str:
        """A label for users: `spot g5.xlarge in us-east-1a`."""
        return " ".join(
            [
                *(["spot"] if self.purchase == "spot" else []),
                self.kind.name,
                *([f"in {self.zone}"] if self.zone else []),
            ]
        )

    def effective_hourly_cost(self, use: timedelta) -> float:
        """Return the effective cost of one hour of use if a machine is used for the duration `use`.

        It includes the boot time, and for each spot interruption the work since the last checkpoint and the boot of a
        replacement.
        """
        boot_h = self.kind.boot_s / 3600.0
        use_h = use.total_seconds() / 3600.0
        return (self.price_per_hour or 0.0) * (1.0 + boot_h / use_h + boot_h * self.interruptions_per_hour)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All offers of all providers, in the order of the file."""

    offers: Sequence[Offer] = ()

    def kind(self, name: str) -> MachineKind:
        """Return a machine kind. Raises Rejected (`unknown_kind`) with the nearest name."""
        kinds = {offer.kind.name: offer.kind for offer in self.offers}
        if name not in kinds:
            raise unknown("unknown_kind", "machine kind", name, kinds)
        return kinds[name]

    def find(self, name: str, zone: str | None, purchase: str) -> Offer | None:
        """Return the current offer; None if it no longer exists."""
        for offer in self.offers:
            if (offer.kind.name, offer.zone, offer.purchase) == (name, zone, purchase):
                return offer
        return None

    def of_kind(self, name: str) -> list[Offer]:
        """Return all offers of a kind. Raises Rejected (`unknown_kind`)."""
        kind = self.kind(name)
        return [offer for offer in self.offers if offer.kind == kind]


def unknown(code: str, what: str, name: str, known: Iterable[str]) -> Rejected:
    """Return the error for a name that is not in the catalogue."""
    names = sorted(known)
    near = get_close_matches(name, names, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names[:20]) or 'none'}"
    return Rejected(code, f"the catalogue has no {what} '{name}'", hint=hint)
