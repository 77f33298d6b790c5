"""What a pool may rent, and how much: as people define it (`PoolDefinition`), and as sizing takes it, with the catalogue's offers (`PoolSpec`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from muster.errors import Rejected
from services.provisioner.core.catalogue import Catalogue, Offer, unknown
from services.provisioner.core.instance import INSTANCE, Instance, IntentId
from services.provisioner.core.intents import Intent, member, worker_at
from shared.ids import PoolName
from shared.messages.machine_pools import PoolDefinition
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
            id=member(intent, at),
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


def resolve(pool: PoolName, definition: PoolDefinition, catalogue: Catalogue) -> PoolSpec:
    """The pool with the offers that its definition allows.

    Raises:
        Rejected: A kind or zone is not in the catalogue (`unknown_kind`, `unknown_zone`), a price is missing (`no_price`), or what it asks for
            cannot be (`bad_pool`); `place` names the field.
    """
    _check_bounds(definition)
    found = [offer for name in definition.kinds for offer in _offers(catalogue, name)]
    zones = {offer.zone for offer in found if offer.zone is not None}
    for zone in definition.zones:
        if zone not in zones:
            raise _at("zones", unknown("unknown_zone", "zone of these kinds named", zone, zones))
    rank = {zone: at for at, zone in enumerate(definition.zones)}
    offers = [
        offer
        for offer in found
        if (not rank or offer.zone is None or offer.zone in rank)
        and (offer.purchase == "on_demand" or definition.spot_share > 0)
    ]
    kinds = list(definition.kinds)
    offers.sort(
        key=lambda one: (kinds.index(one.kind.name), rank.get(one.zone or "", 0), one.purchase != "spot")
    )
    _check_offers(definition, offers)
    return PoolSpec(
        pool=pool,
        offers=tuple(offers),
        minimum=definition.minimum,
        maximum=definition.maximum,
        idle_timeout=timedelta(seconds=definition.idle_timeout_s),
        join_timeout=timedelta(seconds=definition.join_timeout_s),
        order=definition.order,
        maximum_slots=definition.maximum_slots,
        reserve_slots=definition.reserve_slots,
        spot=SpotRule(definition.spot_share, definition.on_demand_slots, definition.falls_back),
        patience=timedelta(seconds=definition.patience_s),
        moves_runs=definition.moves_runs and any(offer.purchase == "spot" for offer in offers),
        budget_per_month=definition.budget_per_month,
        labels=definition.labels,
    )


def _check_bounds(definition: PoolDefinition) -> None:
    if not definition.kinds:
        raise Rejected(
            "bad_pool", "a pool needs a kind of machine to rent", "kinds", "`muster pool kinds` lists them"
        )
    if definition.minimum > definition.maximum:
        message = f"{definition.minimum} machines at least and {definition.maximum} at most cannot both be"
        raise Rejected("bad_pool", message, "minimum", "raise the maximum, or lower the minimum")
    most = definition.maximum_slots
    if most is not None and definition.reserve_slots > most:
        message = (
            f"{definition.reserve_slots} slots cannot be kept in reserve by a pool of {most} slots at most"
        )
        raise Rejected("bad_pool", message, "reserve_slots", "raise maximum_slots, or lower the reserve")


def _check_offers(definition: PoolDefinition, offers: list[Offer]) -> None:
    if not offers:
        raise Rejected(
            "bad_pool",
            "no offer of these kinds is left",
            "spot_share",
            "kinds that are sold as spot only need a share above 0",
        )
    kinds = {offer.kind.slot_kind for offer in offers}
    if len(kinds) > 1:
        message = f"a pool has slots of one kind, and these machines have {', '.join(sorted(kinds))}"
        raise Rejected("bad_pool", message, "kinds", "make one pool for each kind of slot")
    unpriced = [offer.words for offer in offers if offer.price_per_hour is None]
    if unpriced and (definition.order == "cheapest" or definition.budget_per_month is not None):
        message = f"no price is known of {', '.join(unpriced[:3])}"
        raise Rejected(
            "no_price",
            message,
            "kinds",
            "add prices to the catalogue, or take the order `given` and no budget",
        )
    most = definition.maximum_slots
    if most is not None and min(offer.kind.slots for offer in offers) > most:
        message = f"every machine of these kinds has more than {most} slots"
        raise Rejected("bad_pool", message, "maximum_slots", "raise it, or add a smaller kind")


def _offers(catalogue: Catalogue, kind: str) -> list[Offer]:
    try:
        return catalogue.of_kind(kind)
    except Rejected as error:
        raise _at("kinds", error) from error


def _at(place: str, error: Rejected) -> Rejected:
    return Rejected(error.code, error.message, place, error.hint)


def _per_slot(offer: Offer) -> float:
    return (offer.price_per_hour or 0.0) / offer.kind.slots
