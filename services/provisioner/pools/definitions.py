"""Resolve a pool's definition: `PoolDefinition` and the catalogue become `PoolSpec`, without side effects."""

from datetime import timedelta

from services.provisioner.core.catalogue import Catalogue, Offer, unknown
from services.provisioner.core.renting.pool_spec import PoolSpec, SpotRule
from shared.errors import Rejected
from shared.ids import PoolName
from shared.messages.machine_pools import PoolDefinition


def resolve(pool: PoolName, definition: PoolDefinition, catalogue: Catalogue) -> PoolSpec:
    """Return the pool with the offers that its definition allows.

    Raises:
        Rejected: A kind or zone is not in the catalogue (`unknown_kind`, `unknown_zone`), a price is missing
            (`no_price`), or the definition is contradictory (`bad_pool`); `place` names the field.
    """
    _check_bounds(definition)
    found = [offer for name in definition.kinds for offer in _offers(catalogue, name)]
    zones = {offer.zone for offer in found if offer.zone is not None}
    for zone in definition.zones:
        if zone not in zones:
            raise _at("zones", unknown("unknown_zone", "zone for these kinds named", zone, zones))
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
        batching_window=timedelta(seconds=definition.batching_window_s),
        migrates_runs=definition.moves_runs and any(offer.purchase == "spot" for offer in offers),
        budget_per_month=definition.budget_per_month,
        labels=definition.labels,
    )


def _check_bounds(definition: PoolDefinition) -> None:
    if not definition.kinds:
        raise Rejected(
            "bad_pool", "the pool names no machine kind", "kinds", "`muster pool kinds` lists the kinds"
        )
    if definition.minimum > definition.maximum:
        message = f"minimum is {definition.minimum}, which is above maximum {definition.maximum}"
        raise Rejected("bad_pool", message, "minimum", "raise the maximum, or lower the minimum")
    most = definition.maximum_slots
    if most is not None and definition.reserve_slots > most:
        message = f"reserve_slots is {definition.reserve_slots}, which is above maximum_slots {most}"
        raise Rejected("bad_pool", message, "reserve_slots", "raise maximum_slots, or lower the reserve")


def _check_offers(definition: PoolDefinition, offers: list[Offer]) -> None:
    if not offers:
        raise Rejected(
            "bad_pool",
            "no offer of these kinds matches the pool's zones and spot_share",
            "spot_share",
            "kinds that are offered only as spot need a spot_share above 0",
        )
    kinds = {offer.kind.slot_kind for offer in offers}
    if len(kinds) > 1:
        message = (
            f"these machines have slots of several kinds ({', '.join(sorted(kinds))}); a pool has only one"
        )
        raise Rejected("bad_pool", message, "kinds", "define one pool for each slot kind")
    unpriced = [offer.label for offer in offers if offer.price_per_hour is None]
    if unpriced and (definition.order == "cheapest" or definition.budget_per_month is not None):
        message = f"the catalogue has no price for {', '.join(unpriced[:3])}"
        raise Rejected(
            "no_price",
            message,
            "kinds",
            "add prices to the catalogue, or set order `given` and no budget",
        )
    most = definition.maximum_slots
    if most is not None and min(offer.kind.slots for offer in offers) > most:
        message = f"every machine of these kinds has more than {most} slots"
        raise Rejected("bad_pool", message, "maximum_slots", "raise maximum_slots, or add a smaller kind")


def _offers(catalogue: Catalogue, kind: str) -> list[Offer]:
    try:
        return catalogue.of_kind(kind)
    except Rejected as error:
        raise _at("kinds", error) from error


def _at(place: str, error: Rejected) -> Rejected:
    return Rejected(error.code, error.message, place, error.hint)
