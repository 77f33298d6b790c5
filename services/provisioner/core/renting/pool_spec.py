"""Resolved definitions of pools, with the catalogue's offers. `services/provisioner/pools/definitions.py` creates it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import INSTANCE, Instance, IntentId
from services.provisioner.core.instances.launches import Intent, instance_id_at, worker_at
from shared.ids import PoolName
from shared.messages.trial_specs import SlotKind

Order = Literal["cheapest", "given"]


@dataclass(frozen=True, slots=True)
class SpotRule:
    """At most `share` of a pool's slots are on spot machines, and at least `on_demand_slots` are not.

    `falls_back`: on-demand machines replace spot machines that are not available.
    """

    share: float = 1.0
    on_demand_slots: int = 0
    falls_back: bool = True

    def least_on_demand(self, slots: int) -> int:
        """Return the minimum of on-demand slots among so many."""
        return min(slots, max(self.on_demand_slots, slots - int(self.share * slots + 1e-9)))


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """Resolved definition of a pool. Bounds count machines unless they name slots.

    Attributes:
        offers: Offers of one slot kind, in the given order.
        migrates_runs: Whether runs may be migrated to cheaper machines.
    """

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
    migrates_runs: bool = False
    batching_window: timedelta = timedelta()
    budget_per_month: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> SlotKind:
        return self.offers[0].kind.slot_kind

    @property
    def driver(self) -> str:
        """The provider of the first offer, which is published as the pool's."""
        return self.offers[0].kind.provider

    @property
    def slots_per_instance(self) -> int:
        """Slots of the largest machine: no single-node request can be larger."""
        return max(offer.kind.slots for offer in self.offers)

    @property
    def price_per_hour(self) -> float:
        """Hourly price of the machine that is cheapest per slot."""
        return min(self.offers, key=_per_slot).price_per_hour or 0.0

    @property
    def price_per_slot_hour(self) -> float | None:
        """Price per slot of the cheapest offer; None if no offer has a price."""
        prices = [offer.price_per_slot_hour for offer in self.offers]
        return min((price for price in prices if price is not None), default=None)

    def intent(self, id: IntentId, offer: Offer, pool_indexes: Sequence[int], now: datetime) -> Intent:
        """Return a launch of new machines for this pool."""
        return Intent(
            id,
            self.pool,
            offer,
            tuple(
                self._instance(id, at, offer, pool_index, now) for at, pool_index in enumerate(pool_indexes)
            ),
        )

    def _instance(self, intent: IntentId, at: int, offer: Offer, pool_index: int, now: datetime) -> Instance:
        return Instance(
            id=instance_id_at(intent, at),
            pool=self.pool,
            worker=worker_at(intent, at),
            driver=offer.kind.provider,
            pool_index=pool_index,
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
