"""What a pool may rent, and how much, with the catalogue's offers. Made of what people define by `services/provisioner/pools/definitions.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import INSTANCE, Instance, IntentId
from services.provisioner.core.instances.intents import Intent, instance_id_at, worker_at
from shared.ids import PoolName
from shared.messages.specs import SlotKind

Order = Literal["cheapest", "given"]


@dataclass(frozen=True, slots=True)
class SpotRule:
    """At most `share` of a pool's slots are on spot machines, and never fewer than `on_demand_slots` are not.

    `falls_back`: where spot machines are not to be had, others are taken beyond the share.
    """

    share: float = 1.0
    on_demand_slots: int = 0
    falls_back: bool = True

    def least_on_demand(self, slots: int) -> int:
        """Of so many slots."""
        return min(slots, max(self.on_demand_slots, slots - int(self.share * slots + 1e-9)))


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """What sizing obeys. `offers`: of one kind of slot, in the order given; bounds count machines, except where they say slots. `moves_runs`: what runs may be
    asked to go on elsewhere, where that is cheaper."""

    pool: PoolName
    offers: tuple[Offer, ...]
    minimum: int
    maximum: int
    idle_timeout: timedelta
    join_timeout: timedelta
    order: Order = "cheapest"
    maximum_slots: int | None = None
    reserve_slots: int = 0
    spot: SpotRule = SpotRule()
    moves_runs: bool = False
    patience: timedelta = timedelta()
    budget_per_month: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> SlotKind:
        return self.offers[0].kind.slot_kind

    @property
    def driver(self) -> str:
        """The provider of the first offer, in whose name the pool speaks."""
        return self.offers[0].kind.provider

    @property
    def slots_per_instance(self) -> int:
        """Of the largest machine: more slots than these are never on one."""
        return max(offer.kind.slots for offer in self.offers)

    @property
    def price_per_hour(self) -> float:
        """Of the machine that is cheapest per slot."""
        return min(self.offers, key=_per_slot).price_per_hour or 0.0

    @property
    def price_per_slot_hour(self) -> float | None:
        """Of the offer that is cheapest per slot; None where nothing has a price."""
        prices = [offer.price_per_slot_hour for offer in self.offers]
        return min((price for price in prices if price is not None), default=None)

    def intent(self, id: IntentId, offer: Offer, seats: Sequence[int], now: datetime) -> Intent:
        """A call for machines of this pool that are to be begun."""
        return Intent(
            id,
            self.pool,
            offer,
            tuple(self._instance(id, at, offer, seat, now) for at, seat in enumerate(seats)),
        )

    def _instance(self, intent: IntentId, at: int, offer: Offer, seat: int, now: datetime) -> Instance:
        return Instance(
            id=instance_id_at(intent, at),
            pool=self.pool,
            worker=worker_at(intent, at),
            driver=offer.kind.provider,
            seat=seat,
            slots=offer.kind.slots,
            kind=offer.kind.slot_kind,
            price_per_hour=offer.price_per_hour or 0.0,
            state=INSTANCE.initial,
            since=now,
            intent=intent,
            machine_kind=offer.kind.name,
            zone=offer.zone,
            purchase=offer.purchase,
        )


def _per_slot(offer: Offer) -> float:
    return (offer.price_per_hour or 0.0) / offer.kind.slots
