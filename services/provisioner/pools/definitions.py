"""From what people define of a pool to what it may rent: `PoolDefinition` and the catalogue become `PoolSpec`. Pure."""

from datetime import timedelta

from services.provisioner.core.catalogue import Catalogue, Offer, unknown
from services.provisioner.core.renting.pool_spec import PoolSpec, SpotRule
from shared.errors import Rejected
from shared.ids import PoolName
from shared.messages.machine_pools import PoolDefinition


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
