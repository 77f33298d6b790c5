"""Requests that each must be on one machine are covered by machines that hold them, and more of them are waited for while they come."""

from hypothesis import given, strategies as st

from services.provisioner.core.choosing import Room
from services.provisioner.core.lack import Lack
from services.provisioner.core.pieces import Lacking, cover, lacking_of
from services.provisioner.core.sizing import plan_size
from services.provisioner.core.standing import Demand, Standing
from tests.unit.provisioner.world import NOW, offer, seconds, spec

SMALL, MIDDLE, LARGE = offer(1, 1.0), offer(4, 3.0), offer(8, 7.0)
POOL = spec(0, 100, offers=(SMALL, MIDDLE, LARGE))


def rented(waiting: int, *sizes: tuple[int, int], pool: object = POOL, lack: Lack | None = None) -> list[int]:
    demand = Demand(waiting=waiting, heard_at=NOW, largest=max(size for size, _ in sizes), sizes=sizes)
    assert isinstance(pool, type(POOL))
    found = plan_size(pool, Standing(demand, [], lack=lack or Lack()), NOW)
    return sorted(launch.offer.kind.slots for launch in found.launches for _ in launch.seats)


def test_each_of_several_large_requests_gets_a_machine_that_holds_it() -> None:
    assert rented(24, (8, 3)) == [8, 8, 8]


def test_what_large_requests_leave_free_is_for_smaller_ones() -> None:
    assert rented(7, (5, 1), (1, 2)) == [8]
    assert rented(9, (5, 1), (4, 1)) == [4, 8]


def test_what_no_machine_holds_is_not_rented_for() -> None:
    assert rented(17, (16, 1), (1, 1)) == [1]


def test_a_machine_that_comes_holds_no_request_that_is_larger() -> None:
    assert Lacking((8,), 2).after([4]) == Lacking((8,), 0)


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 5, 8]), max_size=12),
    st.integers(0, 6),
    st.sampled_from([(SMALL, MIDDLE, LARGE), (LARGE,), (SMALL, LARGE)]),
)
def test_what_is_rented_holds_everything(pieces: list[int], loose: int, offers: tuple[object, ...]) -> None:
    sizes = [(size, pieces.count(size)) for size in set(pieces)]
    lacking = lacking_of(sum(pieces) + loose, sizes, 8)
    machines = cover(lacking, offers, Room(100), "cheapest")  # type: ignore[arg-type]
    assert lacking.after(one.kind.slots for one in machines).slots == 0


def test_renting_waits_while_more_is_asked_for_but_not_for_ever() -> None:
    patient = spec(0, 100, offers=(SMALL, MIDDLE, LARGE), patience=seconds(60))
    assert rented(2, (1, 2), pool=patient) == []
    still_growing = Lack(1, NOW - seconds(50), NOW - seconds(1))
    assert rented(2, (1, 2), pool=patient, lack=still_growing) == []
    assert rented(2, (1, 2), pool=patient, lack=Lack(1, NOW - seconds(60), NOW - seconds(1))) == [1, 1]
    assert rented(2, (1, 2), pool=patient, lack=Lack(2, NOW - seconds(50), NOW - seconds(15))) == [1, 1]
