"""What is rented for a demand, of several kinds and purchases: the cheapest within every bound, and what holds in any case."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import Instance, InstanceState
from services.provisioner.core.instances.refusals import LaunchBackoff, LaunchRefusal, on_refused
from services.provisioner.core.planning.pool_status import Demand, MonthlyBudget, PoolStatus
from services.provisioner.core.planning.sizing import plan_size
from services.provisioner.core.renting.pool_spec import PoolSpec, SpotRule
from tests.unit.provisioner.world import LONG_AGO, NOW, instance, of_offer, offer, seconds, spec

S = InstanceState
A_SPOT, A_FIRM = offer(1, 0.3, zone="a", purchase="spot"), offer(1, 1.0, zone="a")
B_SPOT, LARGE = offer(1, 0.4, zone="b", purchase="spot"), offer(8, 6.0, zone="a")
MIXED = spec(0, 9, offers=(A_SPOT, B_SPOT, A_FIRM, LARGE))


def held(*offers: Offer) -> list[LaunchBackoff]:
    return [on_refused(None, one, LaunchRefusal("no_capacity", "none"), NOW) for one in offers]


def rented(pool: PoolSpec, waiting: int, live: list[Instance] | None = None, **facts: Any) -> dict[str, int]:
    """What is launched for so many slots, by offer."""
    largest = facts.pop("largest", 0)
    demand = Demand(waiting, received_at=NOW, largest=largest)
    sizing = plan_size(pool, PoolStatus(demand, live or [], **facts), NOW)
    return {launch.offer.label: len(launch.pool_indexes) for launch in sizing.launches}


def mixed(**rule: Any) -> PoolSpec:
    return replace(MIXED, spot=SpotRule(**rule))


def test_the_cheapest_is_rented_and_the_next_where_it_is_held_back() -> None:
    assert rented(MIXED, 2) == {"spot m1 in a": 2}
    assert rented(MIXED, 2, holds=held(A_SPOT)) == {"spot m1 in b": 2}
    assert rented(MIXED, 2, holds=held(A_SPOT, B_SPOT)) == {"m1 in a": 2}
    later = [replace(one, until=NOW) for one in held(A_SPOT, B_SPOT)]
    assert rented(MIXED, 2, holds=later) == {"spot m1 in a": 2}, "and again once it is to be had"


def test_a_large_machine_is_rented_for_what_needs_one_and_for_nothing_less() -> None:
    assert rented(MIXED, 4) == {"spot m1 in a": 4}
    assert rented(MIXED, 4, largest=4) == {"m8 in a": 1}
    coming = [of_offer(1, LARGE, S.JOINING)]
    assert rented(MIXED, 9, coming, largest=4) == {"spot m1 in a": 1}, "one that is coming will hold it"


def test_for_what_fits_on_no_machine_none_is_rented_and_that_is_told() -> None:
    sizing = plan_size(MIXED, PoolStatus(Demand(16, received_at=NOW, largest=16), []), NOW)
    assert not sizing.launches
    assert "16 slots on one machine" in (sizing.shortfall or "")


def test_spot_machines_keep_to_their_share_and_the_floor_of_others() -> None:
    assert rented(mixed(share=0.5), 4) == {"m1 in a": 2, "spot m1 in a": 2}
    assert rented(mixed(on_demand_slots=1), 4) == {"m1 in a": 1, "spot m1 in a": 3}
    firm = [of_offer(1, A_FIRM), of_offer(2, A_FIRM)]
    assert rented(mixed(share=0.5), 2, firm) == {"spot m1 in a": 2}


def test_who_wants_no_other_machines_waits_for_spot_machines() -> None:
    assert rented(mixed(falls_back=False), 2, holds=held(A_SPOT, B_SPOT)) == {}


def test_the_order_given_comes_before_the_price() -> None:
    given = replace(MIXED, order="given", offers=(A_FIRM, A_SPOT))
    assert rented(given, 2) == {"m1 in a": 2}
    assert rented(given, 2, holds=held(A_FIRM)) == {"spot m1 in a": 2}


def test_a_reserve_is_kept_idle_and_does_not_go() -> None:
    pool = spec(0, 9, reserve_slots=2)
    assert rented(pool, 0) == {"m1": 2}
    live = [instance(number) for number in range(4)]
    idle = {one.worker: LONG_AGO for one in live}
    found = plan_size(pool, PoolStatus(Demand(idle=4, received_at=NOW), live, idle), NOW)
    assert len(found.drains) == 2
    assert rented(pool, 1, live) == {"m1": 3}, "the reserve is kept beside what waits"


def test_the_dearest_goes_first() -> None:
    live = [of_offer(1, A_FIRM), of_offer(2, A_SPOT), of_offer(3, LARGE)]
    idle = {one.worker: LONG_AGO for one in live}
    found = plan_size(MIXED, PoolStatus(Demand(received_at=NOW), live, idle), NOW)
    assert [one.pool_index for one in found.drains] == [1, 3, 2]


def test_a_bound_of_slots_is_kept_both_ways() -> None:
    bound = replace(MIXED, maximum_slots=6)
    assert rented(bound, 20) == {"spot m1 in a": 6}
    live = [of_offer(number, A_SPOT) for number in range(8)]
    idle = {live[3].worker: NOW}
    found = plan_size(bound, PoolStatus(Demand(5, received_at=NOW), live, idle), NOW)
    assert [one.pool_index for one in found.drains] == [3, 7]


def test_a_budget_stops_launches_that_could_pass_it_within_the_hour_and_says_so() -> None:
    budget = MonthlyBudget("the pool's budget of May", 100.0, 98.9)
    assert rented(MIXED, 9, budgets=[budget]) == {"spot m1 in a": 3}
    live = [of_offer(1, A_FIRM)]
    found = plan_size(MIXED, PoolStatus(Demand(2, received_at=NOW), live, budgets=[budget]), NOW)
    assert not found.launches
    assert found.shortfall is not None
    assert found.shortfall.startswith("the pool's budget of May: 98.90 of 100.00 is spent")
    assert not found.drains, "what runs goes on"


@given(
    st.integers(0, 30),
    st.integers(0, 9),
    st.integers(0, 12),
    st.floats(0, 1),
    st.integers(0, 6),
    st.sets(st.sampled_from([A_SPOT, B_SPOT, A_FIRM, LARGE]), max_size=3),
    st.floats(0, 20),
)
def test_whatever_is_asked_bounds_budgets_and_the_share_hold(
    waiting: int, largest: int, most: int, share: float, floor: int, blocked: set[Offer], money: float
) -> None:
    pool = replace(MIXED, maximum=most, maximum_slots=20, spot=SpotRule(share, floor))
    budget = MonthlyBudget("a budget", 100.0, 100.0 - money)
    status = PoolStatus(
        Demand(waiting, received_at=NOW, largest=largest), [], holds=held(*blocked), budgets=[budget]
    )
    sizing = plan_size(pool, status, NOW)
    machines = [launch.offer for launch in sizing.launches for _ in launch.pool_indexes]
    assert len(machines) <= most
    assert sum(one.kind.slots for one in machines) <= 20
    assert sum(one.price_per_hour or 0.0 for one in machines) <= money + 1e-6
    assert not blocked & set(machines), "what is held back is not asked for"
    slots = sum(one.kind.slots for one in machines)
    firm = sum(one.kind.slots for one in machines if one.purchase == "on_demand")
    assert firm >= min(slots, pool.spot.least_on_demand(min(waiting, slots)))


@given(st.integers(0, 12), st.integers(0, 4), st.integers(0, 3))
def test_a_constant_demand_comes_to_rest(slots: int, reserve: int, minimum: int) -> None:
    """Played with a scheduler that fills machines as they come: after a while nothing is launched or sent away any more."""
    pool = replace(MIXED, maximum=20, minimum=minimum, reserve_slots=reserve, idle_timeout=seconds(60))
    live: list[Instance] = []
    changes = []
    for step in range(40):
        now = NOW + seconds(30 * step)
        there = sum(one.slots for one in live)
        demand = Demand(max(0, slots - there), max(0, there - slots), received_at=now)
        spare, idle = max(0, there - slots), {}
        for one in reversed(live):
            if one.slots <= spare:
                idle[one.worker], spare = LONG_AGO, spare - one.slots
        found = plan_size(pool, PoolStatus(demand, live, idle), now)
        gone = {one.id for one in found.drains}
        new = [launch.offer for launch in found.launches for _ in launch.pool_indexes]
        live = [one for one in live if one.id not in gone]
        live += [of_offer(100 * step + at, made, since=LONG_AGO) for at, made in enumerate(new)]
        changes.append(len(gone) + len(new))
    assert not any(changes[20:])
    assert sum(one.slots for one in live) >= slots + reserve
    assert len(live) >= minimum


@pytest.mark.parametrize(("slots", "said"), [(1, "1 waiting slot"), (3, "3 waiting slots")])
def test_a_pool_says_what_tenants_budgets_do_not_bear_and_whose_they_are_to_nobody(
    slots: int, said: str
) -> None:
    assert Demand(unaffordable=slots).unaffordable_message == (
        f"no machine is rented for {said}: the monthly budget of a tenant or workspace does not cover an hour"
    )
    assert Demand(waiting=3).unaffordable_message is None
