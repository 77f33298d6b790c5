"""Racks and zones, labels wished for and spread, as people meet them."""

import pytest

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.records.labels import PlacementConstraint, labels_of
from shared.ids import WorkerId
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World

R1, R2, R3 = ({"rack": rack, "zone": zone} for rack, zone in (("r1", "a"), ("r2", "a"), ("r3", "b")))


def world(machines: dict[str, tuple[int, dict[str, str]]], **policy: object) -> World:
    found = World(plain(POOL, **policy))
    for name, (slots, labels) in machines.items():
        found.worker(name, slots, labels=labels_of(labels))
    return found


FOUR = {"a": (2, R1), "b": (2, R2), "c": (2, R2), "d": (2, R3)}
RACKS = {"topology": ("rack", "zone")}


@pytest.mark.parametrize(
    ("machines", "policy", "slots", "expected"),
    [
        pytest.param(FOUR, RACKS, 2, {"a": 2}, id="one machine first"),
        pytest.param(FOUR, RACKS, 4, {"b": 2, "c": 2}, id="one rack"),
        pytest.param(FOUR, {}, 4, {"a": 2, "b": 2}, id="no topology: the lower ids"),
        pytest.param(FOUR, RACKS, 6, {"a": 2, "b": 2, "c": 2}, id="one zone where no rack does"),
        pytest.param(FOUR, RACKS, 8, {"a": 2, "b": 2, "c": 2, "d": 2}, id="across where no zone does"),
        pytest.param(
            {"a": (1, R1), "b": (1, R1), "c": (2, R2), "d": (1, R2), "e": (3, R3), "f": (1, R3)},
            RACKS,
            3,
            {"e": 3},
            id="one machine of any rack",
        ),
        pytest.param(
            {"a": (1, R1), "b": (1, R1), "c": (1, R1), "d": (2, R2), "e": (2, R2), "f": (1, R2)},
            RACKS,
            3,
            {"d": 2, "f": 1},
            id="the rack where fewest machines do",
        ),
        pytest.param(
            {"a": (2, R1), "b": (2, R1), "c": (2, R1), "d": (2, R2), "e": (2, R2)},
            RACKS,
            4,
            {"d": 2, "e": 2},
            id="of equal racks the fuller",
        ),
        pytest.param(
            {"a": (2, R2), "b": (2, R2), "c": (2, R1), "d": (2, R1), "e": (2, R1)},
            RACKS | {"placement": "spread"},
            4,
            {"c": 2, "d": 2},
            id="of equal racks the emptier",
        ),
        pytest.param({"a": (2, R1), "b": (3, R1)}, {"placement": "spread"}, 1, {"b": 1}, id="spread"),
        pytest.param({"a": (2, R1), "b": (3, R1)}, {}, 1, {"a": 1}, id="best fit"),
    ],
)
def test_where_a_gang_goes(
    machines: dict[str, tuple[int, dict[str, str]]],
    policy: dict[str, object],
    slots: int,
    expected: dict[str, int],
) -> None:
    found = world(machines, **policy)
    found.want(1, slots)
    found.cycle()
    assert found.placement(1) == expected


@pytest.mark.parametrize(
    ("where", "slots", "expected"),
    [
        (PlacementConstraint(required=(("rack", "r2"),)), 1, {"b": 1}),
        (PlacementConstraint(preferred=(("rack", "r3"),)), 1, {"d": 1}),
        (PlacementConstraint(preferred=(("rack", "r2"), ("zone", "b"))), 1, {"b": 1}),
        (PlacementConstraint(preferred=(("rack", "r3"),)), 4, {"b": 2, "c": 2}),
        (PlacementConstraint(excluded=(WorkerId("a"), WorkerId("b"))), 1, {"c": 1}),
        (PlacementConstraint(required=(("zone", "a"),), excluded=(WorkerId("b"),)), 4, {"a": 2, "c": 2}),
    ],
)
def test_where_labels_lead(where: PlacementConstraint, slots: int, expected: dict[str, int]) -> None:
    found = world(FOUR, topology=("rack", "zone"))
    found.want(1, slots, where=where)
    found.cycle()
    assert found.placement(1) == expected


def test_who_waits_for_labels_holds_nobody_up_and_is_told_what_is_missing() -> None:
    found = world(FOUR)
    found.want(1, 2, where=PlacementConstraint(required=(("rack", "r3"),)))
    found.cycle()
    found.silence("d")
    for number, where in ((2, PlacementConstraint(required=(("rack", "r3"),))), (3, None)):
        found.want(number, 2, where=where)
    found.cycle()
    assert found.running() == {3}
    told = explain(found.cluster, found.trial(2))
    assert told.code == "no_such_worker"
    assert "with rack=r3" in told.message and "no matching machine that accepts work" in told.message
    found.worker("d", 2, labels=labels_of(R3), allocations=())
    found.cycle()
    assert len(found.running() & {1, 2}) == 1
    (waiting,) = {1, 2} - found.running()
    told = explain(found.cluster, found.trial(waiting))
    assert (told.code, told.facts["free_slots"], told.facts["pool_slots"]) == ("waiting_for_slots", 0, 2)
    assert "on machines with rack=r3" in told.message


def test_machines_with_the_labels_are_asked_for_and_reserved() -> None:
    found = world(FOUR, preemption=True)
    for number, experiment in ((1, 1), (2, 2), (3, 3), (4, 4)):
        found.set_policy(experiment, priority=50 + number)
        found.want(number, 2, experiment=experiment)
    found.cycle()
    on = {next(iter(found.placement(number))): number for number in (1, 2, 3, 4)}
    found.set_policy(9, priority=10)
    found.want(9, 2, experiment=9, where=PlacementConstraint(required=(("rack", "r1"),)))
    found.cycle()
    assert [number for number in (1, 2, 3, 4) if found.run(number).preempted] == [on["a"]]
    plain = world(FOUR)
    plain.want(1, 2, where=PlacementConstraint(required=(("rack", "r3"),)))
    plain.cycle()
    plain.want(2, 2, where=PlacementConstraint(required=(("rack", "r3"),)))
    plain.cycle()
    reserved = plain.cluster.pools[POOL].reserved
    assert reserved is not None and reserved.workers == (WorkerId("d"),)
    plain.worker("c", 2, labels=labels_of(R3))
    plain.worker("d", 2, labels=labels_of(R1), allocations=plain.observed("d"))
    plain.want(3, 4)
    plain.cycle()
    assert plain.running() == {1, 2, 3}, "who waited goes where its label is now, and others where it is not"
    assert plain.placement(2) == {"c": 2}


@pytest.mark.parametrize(("provided", "waiting"), [({}, 0), ({"rack": "r1"}, 2)])
def test_no_machine_is_asked_for_that_would_not_have_the_labels(
    provided: dict[str, str], waiting: int
) -> None:
    found = world(FOUR, max_slots=100, max_slots_per_worker=2, provided_labels=labels_of(provided))
    for number in (1, 2):
        found.want(number, 2, where=PlacementConstraint(required=(("rack", "r1"),)))
    assert found.plan().demand[POOL].waiting == waiting
    found.cycle()
    assert len(found.running()) == 1
    assert found.plan().demand[POOL].waiting == waiting
