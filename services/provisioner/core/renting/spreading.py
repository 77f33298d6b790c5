"""Spread large launches over several offers once capacity is short. See `sizing`, which selects machines, and `refusals`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import Instance, InstanceState
from services.provisioner.core.instances.refusals import LaunchBackoff
from services.provisioner.core.renting.selection import TYPICAL_USE, Capacity

LEAST_OF_ONE = 50
"""Up to this many machines are launched from one offer."""
MAX_PRICE_RATIO = 1.25
"""Offers are not used for spreading if their price exceeds the selected offer's by more than this factor."""


def lacks_capacity(offers: Sequence[Offer], holds: Iterable[LaunchBackoff], now: datetime) -> bool:
    """Whether one of the offers is paused because it had no capacity."""
    return any(
        hold.cause == "no_capacity" and hold.is_on(now) and any(hold.scope.covers(offer) for offer in offers)
        for hold in holds
    )


def has_pending_launch(offer: Offer, live: Iterable[Instance]) -> bool:
    """Whether a launch of this offer has no answer yet; its capacity is known only after that, so nothing more is launched meanwhile."""
    mine = (offer.kind.name, offer.zone, offer.purchase)
    return any(
        one.state is InstanceState.REQUESTED and mine == (one.machine_kind, one.zone, one.purchase)
        for one in live
    )


def spread(chosen: Sequence[Offer], offers: Sequence[Offer], room: Capacity) -> list[Offer]:
    """Replace machines by equally large ones, distributed evenly over the cheapest offers of each size.

    After a shortage, asking offers one after the other takes as many rounds as there are offers, and providers limit
    calls. Returns the machines unchanged if the result would exceed the price limit.
    """
    found: list[Offer] = []
    for offer, count in Counter(chosen).items():
        alike = sorted((one for one in offers if _is_like(offer, one)), key=_hour)
        parts = alike[: -(-count // LEAST_OF_ONE)]
        found += sorted((parts[at % len(parts)] for at in range(count)), key=parts.index)
    paid = sum(one.price_per_hour or 0.0 for one in found)
    return found if paid <= room.price_per_hour else list(chosen)


def _is_like(chosen: Offer, one: Offer) -> bool:
    mine, other = chosen.kind, one.kind
    is_same = (mine.slots, mine.slot_kind, chosen.purchase) == (other.slots, other.slot_kind, one.purchase)
    return is_same and _hour(one) <= MAX_PRICE_RATIO * _hour(chosen)


def _hour(offer: Offer) -> float:
    return offer.effective_hourly_cost(TYPICAL_USE)
