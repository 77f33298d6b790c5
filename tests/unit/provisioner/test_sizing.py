"""How many machines there should be: cases, and what holds in any case."""

from dataclasses import dataclass, field
from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from services.provisioner.core.instances.instance import (
    LEAVING,
    Instance,
    InstanceState,
    InstanceTrigger,
    moved,
)
from services.provisioner.core.planning.pool_status import Demand, PoolStatus
from services.provisioner.core.planning.sizing import Sizing, plan_size
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.ids import WorkerId
from tests.unit.provisioner.world import LONG_AGO, NOW, instance, offer, seconds, spec

S = InstanceState


def demand(waiting: int = 0, idle: int = 0, soon: int = 0, received_at: datetime = NOW) -> Demand:
    return Demand(waiting, idle, soon, None, received_at)


NONE, USUAL = Demand(), spec()


@dataclass(frozen=True)
class Case:
    name: str
    live: list[Instance]
    demand: Demand = NONE
    spec: PoolSpec = USUAL
    idle: dict[int, datetime] = field(default_factory=dict)
    launches: int = 0
    drains: tuple[int, ...] = ()
    undrained: tuple[int, ...] = ()
    withdrawn: tuple[int, ...] = ()


CASES = [
    Case("the minimum is brought up without any demand", [], launches=1),
    Case("a minimum of none", [], spec=spec(minimum=0)),
    Case("nothing to do", [instance(0)]),
    Case("a starting one counts for the minimum", [instance(0, S.REQUESTED)]),
    Case("demand beyond what stands", [instance(0)], demand(2), launches=2),
    Case("not beyond the maximum", [instance(0)], demand(9), launches=3),
    Case("leaving ones take up room, too", [instance(0), instance(1, S.TERMINATING)], demand(9), launches=2),
    Case("starting ones answer a part of it", [instance(0), instance(1, S.JOINING)], demand(2), launches=1),
    Case("whole machines for parts of them", [instance(0)], demand(3), spec(slots=2), launches=2),
    Case("a kind of slot that is not here", [instance(0)], Demand(2, 0, 0, "cuda", NOW)),
    Case("soon is answered by idle slots first", [instance(0)], demand(0, idle=1, soon=2), launches=1),
    Case(
        "a worker that has just joined answers the demand that is older",
        [instance(0), instance(1, since=NOW - seconds(1))],
        demand(1, received_at=NOW - seconds(2)),
    ),
    Case(
        "but not the newer one",
        [instance(0), instance(1, since=NOW - seconds(2))],
        demand(1, received_at=NOW - seconds(1)),
        launches=1,
    ),
    Case(
        "nor for long",
        [instance(0), instance(1, since=NOW - seconds(10))],
        demand(1, received_at=NOW - seconds(11)),
        launches=1,
    ),
    Case(
        "a draining one is taken back first",
        [instance(0), instance(1, S.DRAINING)],
        demand(2),
        undrained=(1,),
        launches=1,
    ),
    Case(
        "idle too long above the minimum",
        [instance(0), instance(1)],
        idle={0: LONG_AGO, 1: LONG_AGO},
        drains=(1,),
    ),
    Case("idle, and not long enough", [instance(0), instance(1)], idle={0: NOW, 1: NOW - seconds(119)}),
    Case(
        "idle while others wait", [instance(0), instance(1)], demand(1), spec(maximum=2), idle={1: LONG_AGO}
    ),
    Case("the busy one stays", [instance(0), instance(1)], idle={0: LONG_AGO}, drains=(0,)),
    Case(
        "a silent one is no spare one",
        [instance(0), instance(1, is_schedulable=False, silent_since=LONG_AGO)],
        idle={1: LONG_AGO},
    ),
    Case(
        "one that takes no more work goes, whatever waits",
        [instance(0), instance(1, is_schedulable=False)],
        demand(1),
        spec(maximum=2),
        idle={1: LONG_AGO},
        drains=(1,),
    ),
    Case(
        "but not below the minimum",
        [instance(0), instance(1, is_schedulable=False)],
        spec=spec(minimum=2),
        idle={1: LONG_AGO},
    ),
    Case(
        "and is no reserve",
        [instance(0), instance(1, is_schedulable=False)],
        spec=spec(minimum=0, reserve_slots=1),
        idle={0: LONG_AGO, 1: LONG_AGO},
        drains=(1,),
    ),
    Case(
        "a lowered maximum: idle ones go first, at once",
        [instance(0), instance(1), instance(2)],
        spec=spec(maximum=2),
        idle={0: NOW},
        drains=(0,),
    ),
    Case(
        "a lowered maximum: what was not begun is not begun",
        [instance(0), instance(1), instance(2, S.REQUESTED)],
        spec=spec(maximum=2),
        withdrawn=(2,),
    ),
    Case(
        "a pool that is given up: who has not joined goes at once, who works when its runs have ended",
        [instance(0), instance(1, S.LAUNCHING), instance(2, S.JOINING)],
        spec=spec(minimum=0, maximum=0),
        withdrawn=(2, 1),
        drains=(0,),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sizes(case: Case) -> None:
    idle = {instance(number).worker: since for number, since in case.idle.items()}
    found = plan_size(case.spec, PoolStatus(case.demand, case.live, idle), NOW)
    assert len(pool_indexes(found)) == case.launches
    assert tuple(one.pool_index for one in found.drains) == case.drains
    assert tuple(one.pool_index for one in found.undrained) == case.undrained
    assert tuple(one.pool_index for one in found.withdrawn) == case.withdrawn


def test_seats_are_the_lowest_free_ones() -> None:
    found = plan_size(spec(maximum=5), PoolStatus(demand(9), [instance(0), instance(2)]), NOW)
    assert pool_indexes(found) == (1, 3, 4)


def pool_indexes(sizing: Sizing) -> tuple[int, ...]:
    return tuple(pool_index for launch in sizing.launches for pool_index in launch.pool_indexes)


INSTANCES = st.lists(
    st.sampled_from([state for state in S if state not in (S.TERMINATED, S.LOST, S.FAILED)]), max_size=8
)


@given(INSTANCES, st.integers(0, 20), st.integers(0, 3), st.integers(0, 5), st.sets(st.integers(0, 7)))
def test_whatever_stands_the_bounds_hold_and_one_step_settles(
    states: list[InstanceState], waiting: int, minimum: int, more: int, idle_ones: set[int]
) -> None:
    live = [instance(number, state) for number, state in enumerate(states)]
    bounds = spec(minimum, minimum + more)
    idle = {instance(number).worker: LONG_AGO for number in idle_ones}
    sizing = plan_size(bounds, PoolStatus(demand(waiting), live, idle), NOW)
    assert len(live) + len(pool_indexes(sizing)) <= max(bounds.maximum, len(live))
    after = _after(live, sizing)
    staying = [one for one in after if one.state not in LEAVING]
    before = [one for one in live if one.state not in LEAVING]
    assert len(staying) >= min(minimum, len(before)), "nobody below the minimum is sent away"
    assert not (sizing.launches and sizing.drains), "what is started is not sent away"
    again = plan_size(bounds, PoolStatus(demand(waiting), after, _without(idle, sizing)), NOW)
    assert len(again.launches) + len(again.undrained) == 0 or len(live) > bounds.maximum


def _after(live: list[Instance], sizing: Sizing) -> list[Instance]:
    moves = (
        {one.id: InstanceTrigger.DRAIN for one in sizing.drains}
        | {one.id: InstanceTrigger.UNDO for one in sizing.undrained}
        | {one.id: InstanceTrigger.RELEASE for one in sizing.withdrawn}
    )
    stay = [moved(one, moves[one.id], NOW) if one.id in moves else one for one in live]
    return [
        *stay,
        *(
            instance(100 + pool_index, S.REQUESTED, NOW, pool_index=pool_index)
            for pool_index in pool_indexes(sizing)
        ),
    ]


def _without(idle: dict[WorkerId, datetime], sizing: Sizing) -> dict[WorkerId, datetime]:
    return {
        worker: since for worker, since in idle.items() if worker not in {one.worker for one in sizing.drains}
    }


def test_a_slot_costs_its_part_of_a_machine_and_nothing_is_told_of_machines_without_a_price() -> None:
    assert spec(offers=(offer(4, 10.0),)).price_per_slot_hour == 2.5
    assert spec(slots=4).price_per_slot_hour is None
