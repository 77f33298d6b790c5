"""Where elastic runs lie: machines are never overfull, gangs over machines share none, and who can stays."""

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from services.scheduler.core.planning.elastic.affinity import MachinePreference
from services.scheduler.core.planning.elastic.allocation import ElasticMember, arrange
from services.scheduler.core.planning.elastic.packing import Packing, allowed_sizes
from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.indexes.elastic.history import GROWTH, ReportHistory
from services.scheduler.core.state.indexes.elastic.throughput import Timing
from services.scheduler.core.state.indexes.placement.capacity import Placement
from shared.ids import TrialId, WorkerId

LIMITS = BatchLimits(first_batch=128, last_batch=8192, least_per_slot=16, most_per_slot=512)


def trial(number: int) -> TrialId:
    return TrialId(UUID(int=number))


def machines(*slots: int) -> dict[WorkerId, int]:
    return {WorkerId(f"m{index:02}"): count for index, count in enumerate(slots)}


def learnt(slots: int, is_scalable: bool = True) -> ReportHistory:
    history = ReportHistory(LIMITS)
    for held in (1, 2, 4, slots):
        count = -(-held // 4)
        sync = 0.01 if is_scalable else 0.5 * held
        history.add(Timing(count, held, 128, 0.2 + (sync if held > 1 else 0), 0.2), GradientNoise(1.0, 50.0))
    return history


def slots_of(placement: Placement) -> int:
    return sum(count for _, count in placement)


def test_sizes_are_halvings_of_a_machine_and_whole_machines() -> None:
    assert allowed_sizes(1, 20, 4) == (1, 2, 4, 8, 12, 16, 20)
    assert allowed_sizes(3, 9, 8) == (3, 4, 8)
    assert allowed_sizes(6, 40, 8) == (6, 8, 16, 24, 32, 40)


def test_a_trial_that_has_said_nothing_begins_small() -> None:
    placed = arrange([ElasticMember(trial(1), 1, 64)], machines(4, 4))
    assert slots_of(placed[trial(1)]) == 2


def test_a_trial_grows_no_further_at_once_than_it_has_tried() -> None:
    member = ElasticMember(trial(1), 1, 64, history=learnt(4), age_ms=10**7)
    assert slots_of(arrange([member], machines(*[4] * 16))[trial(1)]) == 4 * GROWTH


def test_idle_slots_go_where_they_speed_up() -> None:
    scaling = ElasticMember(trial(1), 1, 16, history=learnt(8), age_ms=10**7)
    stuck = ElasticMember(trial(2), 1, 16, history=learnt(8, is_scalable=False), age_ms=10**7)
    placed = arrange([stuck, scaling], machines(4, 4, 4, 4))
    assert slots_of(placed[trial(1)]) > slots_of(placed[trial(2)])


def test_nobody_is_moved_when_nothing_is_gained() -> None:
    member = ElasticMember(trial(1), 1, 4, held=((WorkerId("m01"), 4),), history=learnt(4), age_ms=10**7)
    assert arrange([member], machines(4, 4))[trial(1)] == member.held


def test_a_waiting_minimum_takes_from_those_who_have_more() -> None:
    held = ((WorkerId("m00"), 4),)
    large = ElasticMember(trial(1), 1, 4, held=held, history=learnt(4), age_ms=10**7)
    placed = arrange([large, ElasticMember(trial(2), 2, 4)], machines(4))
    assert slots_of(placed[trial(1)]) == 2
    assert slots_of(placed[trial(2)]) == 2


def test_small_runs_move_away_for_a_gang() -> None:
    held = {trial(n): ((WorkerId(f"m0{n}"), 1),) for n in (0, 1)}
    placed = Packing(machines(4, 4, 4), held).pack({trial(0): 1, trial(1): 1, trial(2): 8})
    assert slots_of(placed[trial(2)]) == 8
    assert placed[trial(0)][0][0] == placed[trial(1)][0][0]
    assert sum(placed[t] != held[t] for t in held) == 1


IN_RACKS = {
    WorkerId(f"m{n:02}"): ((rack,), (rack[0],)) for n, rack in enumerate(("a1", "a1", "a2", "a2", "b1", "b1"))
}
"""Two machines a rack; two racks in the first zone, one in the second."""


def nodes(placement: Placement) -> list[str]:
    return [worker for worker, _ in placement]


@pytest.mark.parametrize(
    ("held", "wanted", "taste", "expected"),
    [
        pytest.param((("m03", 2),), 4, MachinePreference(), ["m03"], id="its own machine"),
        pytest.param(
            (("m03", 4),), 8, MachinePreference(), ["m03", "m02"], id="its own rack, the chief first"
        ),
        pytest.param(
            (("m02", 4),),
            12,
            MachinePreference(),
            ["m02", "m03", "m00"],
            id="its own zone where no rack does",
        ),
        pytest.param(
            (("m04", 4),),
            12,
            MachinePreference(),
            ["m00", "m01", "m02"],
            id="another zone where its own does not",
        ),
        pytest.param(
            (("m03", 4), ("m02", 4)),
            4,
            MachinePreference(),
            ["m03"],
            id="what it gives back is not its chief's",
        ),
        pytest.param((), 8, MachinePreference(), ["m00", "m01"], id="who has nothing yet: one rack"),
        pytest.param(
            (),
            8,
            MachinePreference(preferred={WorkerId("m03"): 1, WorkerId("m02"): 1}),
            ["m02", "m03"],
            id="labels",
        ),
        pytest.param(
            (), 2, MachinePreference(preferred={WorkerId("m05"): 1}), ["m05"], id="labels on one machine"
        ),
        pytest.param(
            (("m01", 2),),
            4,
            MachinePreference(preferred={WorkerId("m05"): 1}),
            ["m01"],
            id="nobody moves for a label",
        ),
        pytest.param(
            (("m00", 4),),
            8,
            MachinePreference(barred=frozenset({WorkerId("m01")})),
            ["m02", "m03"],
            id="a rack with room",
        ),
    ],
)
def test_who_grows_stays_near(
    held: tuple[tuple[str, int], ...], wanted: int, taste: MachinePreference, expected: list[str]
) -> None:
    place = tuple((WorkerId(worker), slots) for worker, slots in held)
    found = Packing(machines(*[4] * 6), {trial(1): place}, {trial(1): taste}, IN_RACKS).pack(
        {trial(1): wanted}
    )
    assert nodes(found[trial(1)]) == expected


def test_small_runs_move_away_within_a_rack() -> None:
    guests = ("m00", "m00", "m01", "m02", "m03", "m04", "m04", "m05", "m05")
    held = {trial(number): ((WorkerId(name), 1),) for number, name in enumerate(guests)}
    wanted = dict.fromkeys(held, 1) | {trial(99): 8}
    placed = Packing(machines(*[4] * 6), held, {}, IN_RACKS).pack(wanted)
    assert nodes(placed[trial(99)]) == ["m02", "m03"]
    assert sum(placed[t] != held[t] for t in held) == 2


sizes = st.sampled_from((1, 2, 3, 4, 8, 12, 16))


@given(
    st.lists(st.sampled_from((0, 1, 2, 4, 8)), max_size=6),
    st.lists(st.tuples(sizes, sizes), max_size=10),
    st.lists(st.tuples(sizes, sizes), max_size=10),
)
def test_machines_are_never_overfull_and_gangs_share_none(
    slots: list[int], before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    free = machines(*slots)
    held = Packing(free, {}).pack({trial(n): size for n, (size, _) in enumerate(before)})
    wanted = {trial(n): size for n, (_, size) in enumerate([*before, *after])}
    placed = Packing(free, held).pack(wanted)
    used = dict.fromkeys(free, 0)
    gangs = dict.fromkeys(free, 0)
    for where in placed.values():
        for worker, count in where:
            used[worker] += count
            gangs[worker] += len(where) > 1
    assert all(used[worker] <= free[worker] for worker in free)
    assert all(count <= 1 for count in gangs.values())
    assert all(
        0 < slots_of(where) <= max(wanted[who], slots_of(held.get(who, ()))) for who, where in placed.items()
    )
    assert held.keys() <= placed.keys()
    assert placed == Packing(free, held).pack(wanted)
