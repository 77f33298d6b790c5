"""Requests that each must be on one machine are covered by machines that hold them, and more of them are waited for while they come."""

from collections import Counter

from hypothesis import given, strategies as st

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import Instance, InstanceState
from services.provisioner.core.planning.pool_status import Demand, PoolStatus
from services.provisioner.core.planning.shortage import Shortage
from services.provisioner.core.planning.sizing import plan_size
from services.provisioner.core.renting.selection import Capacity
from services.provisioner.core.renting.single_node import MissingSlots, cover, full_machines_of, missing_slots
from tests.unit.provisioner.world import NOW, of_offer, offer, seconds, spec

SMALL, MIDDLE, LARGE = offer(1, 1.0), offer(4, 3.0), offer(8, 7.0)
POOL = spec(0, 100, offers=(SMALL, MIDDLE, LARGE))


def rented(
    waiting: int, *sizes: tuple[int, int], pool: object = POOL, shortage: Shortage | None = None
) -> list[int]:
    demand = Demand(waiting=waiting, received_at=NOW, largest=max(size for size, _ in sizes), sizes=sizes)
    assert isinstance(pool, type(POOL))
    found = plan_size(pool, PoolStatus(demand, [], shortage=shortage or Shortage()), NOW)
    return sorted(launch.offer.kind.slots for launch in found.launches for _ in launch.pool_indexes)


def test_each_of_several_large_requests_gets_a_machine_that_holds_it() -> None:
    assert rented(24, (8, 3)) == [8, 8, 8]


def test_what_large_requests_leave_free_is_for_smaller_ones() -> None:
    assert rented(7, (5, 1), (1, 2)) == [8]
    assert rented(9, (5, 1), (4, 1)) == [4, 8]


def test_what_no_machine_holds_is_not_rented_for() -> None:
    assert rented(17, (16, 1), (1, 1)) == [1]


def test_a_machine_that_comes_holds_no_request_that_is_larger() -> None:
    assert MissingSlots((8,), 2).after([4]) == MissingSlots((8,), 0)


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 5, 8]), max_size=12),
    st.integers(0, 6),
    st.sampled_from([(SMALL, MIDDLE, LARGE), (LARGE,), (SMALL, LARGE)]),
)
def test_what_is_rented_holds_everything(
    single_node: list[int], loose: int, offers: tuple[object, ...]
) -> None:
    sizes = [(size, single_node.count(size)) for size in set(single_node)]
    missing = missing_slots(sum(single_node) + loose, sizes, 8)
    machines = cover(missing, offers, Capacity(100), "cheapest")  # type: ignore[arg-type]
    assert missing.after(one.kind.slots for one in machines).slots == 0


def test_renting_waits_while_more_is_asked_for_but_not_for_ever() -> None:
    patient = spec(0, 100, offers=(SMALL, MIDDLE, LARGE), batching_window=seconds(60))
    assert rented(2, (1, 2), pool=patient) == []
    still_growing = Shortage(1, NOW - seconds(50), NOW - seconds(1))
    assert rented(2, (1, 2), pool=patient, shortage=still_growing) == []
    assert rented(2, (1, 2), pool=patient, shortage=Shortage(1, NOW - seconds(60), NOW - seconds(1))) == [
        1,
        1,
    ]
    assert rented(2, (1, 2), pool=patient, shortage=Shortage(2, NOW - seconds(50), NOW - seconds(15))) == [
        1,
        1,
    ]


def test_what_fills_the_cheapest_machine_is_rented_ahead_of_the_rest() -> None:
    patient = spec(0, 100, offers=(SMALL, MIDDLE, LARGE), batching_window=seconds(60))
    assert rented(6, (1, 6), pool=patient) == [4]
    assert rented(18, (8, 2), (1, 2), pool=patient) == [8, 8]
    assert rented(3, (1, 3), pool=spec(0, 100, offers=(SMALL, LARGE), batching_window=seconds(60))) == []


@given(
    st.lists(st.sampled_from([2, 4, 8]), max_size=12),
    st.integers(0, 40),
    st.lists(st.sampled_from([SMALL, MIDDLE, LARGE, offer(4, 8.0, zone="b")]), min_size=1, unique=True),
)
def test_machines_rented_ahead_are_full_and_none_would_hold_the_same_for_less(
    single_node: list[int], loose: int, offers: list[Offer]
) -> None:
    missing = MissingSlots(tuple(sorted(single_node, reverse=True)), loose)
    ahead = full_machines_of(missing, offers, "cheapest")
    assert not Counter(ahead.single_node) - Counter(missing.single_node) and ahead.anywhere <= loose
    for size in {*ahead.single_node, 1}:
        alone = MissingSlots(
            tuple(one for one in ahead.single_node if one == size), ahead.anywhere if size == 1 else 0
        )
        machines = cover(alone, offers, Capacity(1000), "cheapest")
        assert sum(one.kind.slots for one in machines) == alone.slots
        per_slot = [(one.price_per_hour or 0.0) / one.kind.slots for one in offers if one.kind.slots >= size]
        assert sum(one.price_per_hour or 0.0 for one in machines) <= alone.slots * min(per_slot) + 1e-9


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_while_more_is_asked_for_no_slot_is_rented_that_is_not_waited_for(arrivals: list[int]) -> None:
    patient = spec(0, 100, offers=(SMALL, MIDDLE, LARGE), batching_window=seconds(60))
    live: list[Instance] = []
    waiting, shortage = 0, Shortage()
    for at, more in enumerate([*arrivals, *[0] * 6]):
        waiting += more
        now = NOW + seconds(10 * at)
        status = PoolStatus(Demand(waiting, received_at=now), live, shortage=shortage)
        found = plan_size(patient, status, now)
        for launch in found.launches:
            live += [
                of_offer(pool_index, launch.offer, InstanceState.JOINING, now)
                for pool_index in launch.pool_indexes
            ]
        shortage = found.shortage
        if shortage.since is not None:
            assert sum(one.slots for one in live) <= waiting
    assert sum(one.slots for one in live) >= waiting, "nothing more has come for as long as it is waited for"
