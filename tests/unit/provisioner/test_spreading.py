"""Where capacity was short, many machines are asked of several offers at once; few, or dearer ones, are not."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, strategies as st

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import InstanceState
from services.provisioner.core.instances.refusals import LaunchBackoff, LaunchRefusal, on_refused
from services.provisioner.core.planning.pool_status import Demand, PoolStatus
from services.provisioner.core.planning.sizing import plan_size
from services.provisioner.core.renting.pool_spec import Order
from services.provisioner.core.renting.selection import Capacity
from services.provisioner.core.renting.spreading import LEAST_OF_ONE, MAX_PRICE_RATIO, spread
from tests.unit.provisioner.world import NOW, of_offer, offer, spec

ZONES = tuple(offer(price=1 + at / 100, zone=f"z{at}") for at in range(6))
SHORT = on_refused(None, ZONES[0], LaunchRefusal("no_capacity", "42 of 100 could be had"), NOW)


def planned(
    machines: int, *holds: LaunchBackoff, asked: Sequence[Offer] = (), order: Order = "cheapest"
) -> Counter[str | None]:
    """How many are asked of each zone; of those that were `asked` one is awaited."""
    live = [of_offer(number, one, InstanceState.REQUESTED) for number, one in enumerate(asked)]
    pool = spec(minimum=0, maximum=1000, offers=ZONES, order=order)
    status = PoolStatus(Demand(machines, received_at=NOW), live, holds=holds)
    return Counter(
        {launch.offer.zone: len(launch.pool_indexes) for launch in plan_size(pool, status, NOW).launches}
    )


def test_all_are_of_the_cheapest_until_it_was_short() -> None:
    assert planned(500) == {"z0": 500}
    assert planned(458, SHORT) == {"z1": 92, "z2": 92, "z3": 92, "z4": 91, "z5": 91}
    assert planned(460, SHORT, asked=ZONES[2:4]) == {"z1": 92, "z4": 91, "z5": 91}, "others are waited for"
    assert not planned(9, SHORT, asked=ZONES[1:2])
    assert not planned(458, SHORT, asked=ZONES[1:])
    assert planned(458, SHORT, order="given") == {"z1": 458}, "people wanted them in this order"


def test_few_are_of_the_cheapest_that_is_left() -> None:
    assert planned(LEAST_OF_ONE, SHORT) == {"z1": LEAST_OF_ONE}
    assert planned(LEAST_OF_ONE + 1, SHORT) == {"z1": 26, "z2": 25}


def test_nothing_is_paid_that_there_is_no_money_for() -> None:
    chosen = [ZONES[0]] * 110
    assert spread(chosen, ZONES, Capacity(200, price_per_hour=110.0)) == chosen
    assert len(set(spread(chosen, ZONES, Capacity(200, price_per_hour=112.0)))) == 3


def test_none_is_much_dearer_for_the_sake_of_time() -> None:
    chosen = [ZONES[0]] * 60
    for price, is_taken in ((MAX_PRICE_RATIO, True), (MAX_PRICE_RATIO + 0.01, False)):
        other = offer(price=price, zone="dear")
        assert (other in spread(chosen, [ZONES[0], other], Capacity(100))) is is_taken


OFFERS = st.builds(
    offer,
    slots=st.sampled_from([1, 8]),
    price=st.floats(0.5, 4.0),
    zone=st.sampled_from("abcdef"),
    purchase=st.sampled_from(["on_demand", "spot"]),
)


def sizes(machines: Sequence[Offer]) -> Counter[tuple[int, str]]:
    return Counter((one.kind.slots, one.purchase) for one in machines)


def cost(machines: Sequence[Offer]) -> float:
    return sum(one.price_per_hour or 0.0 for one in machines)


@given(st.lists(OFFERS, min_size=1, unique=True), st.data())
def test_as_many_of_each_size_and_purchase_are_asked_for_and_none_is_much_dearer(
    offers: list[Offer], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(offers), max_size=200))
    found = spread(chosen, offers, Capacity(1000))
    assert sizes(found) == sizes(chosen)
    assert cost(found) <= MAX_PRICE_RATIO * cost(chosen) + 1e-6
