"""What can be rented: kinds of machines, and the offers of them with their prices. Read from a file by `services/provisioner/pools/catalogue.py`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import get_close_matches
from typing import Literal

from muster.errors import Rejected
from shared.messages.specs import SlotKind

Purchase = Literal["on_demand", "spot"]


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A machine as a provider names it. `memory_gib`: of one GPU, or of the machine where it has none."""

    name: str
    provider: str
    slots: int
    slot_kind: SlotKind
    gpu: str | None = None
    memory_gib: float | None = None
    boot_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A kind that can be had in a zone (None where its provider has none). `price_per_hour` None: nothing is known of it.

    `taken_per_hour`: how often a machine of it is taken back by the provider, as far as is known. `priced_on`: the day of its price.
    """

    kind: MachineKind
    zone: str | None = None
    purchase: Purchase = "on_demand"
    price_per_hour: float | None = None
    taken_per_hour: float = 0.0
    priced_on: date | None = None

    @property
    def price_per_slot_hour(self) -> float | None:
        """None where nothing is known, and where machines cost nothing: then nothing is told of prices."""
        return (self.price_per_hour or 0.0) / self.kind.slots or None

    @property
    def words(self) -> str:
        """As people read it: `spot g5.xlarge in us-east-1a`."""
        return " ".join(
            [
                *(["spot"] if self.purchase == "spot" else []),
                self.kind.name,
                *([f"in {self.zone}"] if self.zone else []),
            ]
        )

    def costs_for(self, use: timedelta) -> float:
        """What an hour of use of one machine costs if it is used so long: it is paid while it boots too, and what it did since the last
        checkpoint and the boot of its successor are lost each time it is taken back."""
        boot_h = self.kind.boot_s / 3600.0
        use_h = use.total_seconds() / 3600.0
        return (self.price_per_hour or 0.0) * (1.0 + boot_h / use_h + boot_h * self.taken_per_hour)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All offers of all providers, in the order of the file."""

    offers: Sequence[Offer] = ()

    def kind(self, name: str) -> MachineKind:
        """Raises Rejected (`unknown_kind`) with the nearest name."""
        kinds = {offer.kind.name: offer.kind for offer in self.offers}
        if name not in kinds:
            raise unknown("unknown_kind", "machine kind", name, kinds)
        return kinds[name]

    def find(self, name: str, zone: str | None, purchase: str) -> Offer | None:
        """The offer as it is now; None where it is no longer there."""
        for offer in self.offers:
            if (offer.kind.name, offer.zone, offer.purchase) == (name, zone, purchase):
                return offer
        return None

    def of_kind(self, name: str) -> list[Offer]:
        """All offers of a kind. Raises Rejected (`unknown_kind`)."""
        kind = self.kind(name)
        return [offer for offer in self.offers if offer.kind == kind]


def unknown(code: str, what: str, name: str, known: Iterable[str]) -> Rejected:
    """The refusal of a name that is not in the catalogue."""
    names = sorted(known)
    near = get_close_matches(name, names, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(names[:20]) or 'none'}"
    return Rejected(code, f"the catalogue has no {what} '{name}'", hint=hint)
