"""Which machines are rented for a need: cases, and against trying every combination."""

from itertools import combinations_with_replacement
from math import inf

import pytest
from hypothesis import given, settings, strategies as st

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.renting.selection import Capacity, Need, choose_machines
from tests.unit.provisioner.world import offer

ONE, FOUR, EIGHT = offer(1, 1.0), offer(4, 3.0), offer(8, 5.0)
WIDE = Capacity(100)


def names(machines: list[Offer]) -> list[str]:
    return [one.kind.name for one in machines]


@pytest.mark.parametrize(
    ("need", "room", "chosen"),
    [
        (Need(1), WIDE, ["m1"]),
        (Need(2), WIDE, ["m1", "m1"]),
        (Need(3), WIDE, ["m4"]),
        (Need(8), WIDE, ["m8"]),
        (Need(9), WIDE, ["m8", "m1"]),
        (Need(0), WIDE, []),
        (Need(2, largest=4), WIDE, ["m4"]),
        (Need(12, largest=8), WIDE, ["m8", "m4"]),
        (Need(9), Capacity(1), ["m8"]),
        (Need(3), Capacity(100, price_per_hour=2.5), ["m1", "m1"]),
        (Need(8), Capacity(100, slots=6), ["m4", "m1", "m1"]),
        (Need(1), Capacity(0), []),
        (Need(9, order="given"), WIDE, ["m1"] * 9),
        (Need(9, largest=4, order="given"), Capacity(3), ["m4", "m1", "m1"]),
    ],
)
def test_what_is_chosen(need: Need, room: Capacity, chosen: list[str]) -> None:
    assert names(choose_machines(need, [ONE, FOUR, EIGHT], room)) == chosen


def test_of_two_zones_the_cheaper_and_of_equals_the_first() -> None:
    here, there = offer(1, 1.0, zone="a"), offer(1, 0.9, zone="b")
    assert choose_machines(Need(1), [here, there], WIDE) == [there]
    again = offer(1, 0.9, zone="c")
    assert choose_machines(Need(1), [here, there, again], WIDE) == [there]


def test_a_thousand_slots_are_mostly_of_what_is_cheapest_per_slot() -> None:
    chosen = names(choose_machines(Need(1001), [ONE, FOUR, EIGHT], Capacity(1000)))
    assert (chosen.count("m8"), chosen.count("m1")) == (125, 1)


OFFERS = st.lists(
    st.builds(
        lambda slots, cents: offer(slots, cents / 100), st.sampled_from([1, 2, 3, 5]), st.integers(0, 900)
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=150)
@given(OFFERS, st.integers(1, 10), st.integers(0, 5), st.integers(1, 5))
def test_nothing_that_covers_the_need_is_cheaper(
    offers: list[Offer], slots: int, largest: int, machines: int
) -> None:
    chosen = choose_machines(Need(slots, largest), offers, Capacity(machines))
    assert len(chosen) <= machines
    if not any(one.kind.slots >= largest for one in offers):
        largest = 0
    covers = [
        sum(one.price_per_hour or 0.0 for one in some)
        for count in range(1, 11)
        for some in combinations_with_replacement(offers, count)
        if sum(one.kind.slots for one in some) >= slots and any(one.kind.slots >= largest for one in some)
        if count <= machines
    ]
    covered = sum(one.kind.slots for one in chosen)
    assert (covered >= slots) is bool(covers), "what can be covered is"
    if machines >= slots:
        paid = sum(one.price_per_hour or 0.0 for one in chosen)
        assert paid == pytest.approx(min(covers, default=inf))


@given(OFFERS, st.integers(1, 30), st.integers(0, 6), st.integers(0, 20), st.floats(0, 20))
def test_the_room_is_kept_to(offers: list[Offer], slots: int, machines: int, most: int, price: float) -> None:
    chosen = choose_machines(Need(slots), offers, Capacity(machines, most, price))
    assert len(chosen) <= machines
    assert sum(one.kind.slots for one in chosen) <= most
    assert sum(one.price_per_hour or 0.0 for one in chosen) <= price + 1e-6
