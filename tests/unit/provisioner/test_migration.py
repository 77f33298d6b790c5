"""Busy machines give way to cheaper ones once they have wasted what moving costs, and only to what has room."""

from datetime import datetime

from services.provisioner.core.instances.instance import Instance, InstanceState
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.planning.migration import ExcessCost
from services.provisioner.core.planning.pool_status import Demand, PoolStatus
from services.provisioner.core.planning.sizing import Sizing, plan_size, with_migrations
from services.provisioner.core.renting.pool_spec import PoolSpec, SpotRule
from shared.ids import TenantId, id_of
from tests.unit.provisioner.world import NOW, of_offer, offer, seconds, spec

SPOT, FIRM = offer(1, 0.3, zone="a", purchase="spot"), offer(1, 1.0, zone="a")
LARGE = offer(8, 2.4, zone="a", purchase="spot")
POOL = spec(0, 9, offers=(SPOT, FIRM, LARGE), migrates_runs=True)
MUCH = 10.0
OURS, THEIRS = TenantId(id_of(1)), TenantId(id_of(2))


def load(*run_slots: int, gangs: int = 0, tenant: TenantId | None = OURS) -> WorkerLoad:
    return WorkerLoad(sum(run_slots), run_slots, gangs, tenant if run_slots else None)


def planned(
    machines: list[tuple[Instance, WorkerLoad]],
    wasted: float = MUCH,
    pool: PoolSpec = POOL,
    demand: Demand | None = None,
    now: datetime = NOW,
) -> Sizing:
    live = [one for one, _ in machines]
    status = PoolStatus(
        demand or Demand(received_at=NOW),
        live,
        loads={one.worker: carried for one, carried in machines},
        wasted={one.worker: wasted for one in live},
    )
    return with_migrations(pool, status, plan_size(pool, status, now), now)


def test_work_goes_back_to_spot_machines_in_two_steps() -> None:
    firm = of_offer(1, FIRM)
    first = planned([(firm, load(1))])
    assert [launch.offer for launch in first.launches] == [SPOT]
    assert not first.moved
    coming = of_offer(2, SPOT, InstanceState.LAUNCHING)
    waiting = planned([(firm, load(1)), (coming, load())])
    assert (waiting.launches, waiting.moved) == ((), ())
    joined = planned([(firm, load(1)), (of_offer(2, SPOT), load())])
    assert joined.moved == (firm,)


def test_nobody_is_moved_before_that_pays() -> None:
    firm = of_offer(1, FIRM)
    sizing = planned([(firm, load(1))], wasted=0.001)
    assert (sizing.launches, sizing.moved) == ((), ())
    assert sizing.rates is not None
    assert sizing.rates[firm.worker] > 0.6


def test_a_large_machine_with_little_left_is_emptied_beside_others_work() -> None:
    first, second = of_offer(1, LARGE), of_offer(2, LARGE)
    sizing = planned([(first, load(1, 1, 1)), (second, load(1, 1))])
    assert len(sizing.moved) == 1
    assert not sizing.launches


def test_machines_of_other_tenants_are_no_room() -> None:
    first, second = of_offer(1, LARGE), of_offer(2, LARGE)
    sizing = planned([(first, load(1, 1, 1)), (second, load(1, 1, tenant=THEIRS))])
    assert not sizing.moved
    assert {launch.offer for launch in sizing.launches} == {SPOT}


def test_pieces_are_not_cut() -> None:
    first, second = of_offer(1, LARGE), of_offer(2, LARGE)
    sizing = planned(
        [(first, load(4)), (second, load(3, 3))], pool=spec(0, 9, offers=(LARGE,), migrates_runs=True)
    )
    assert not sizing.moved


def test_gangs_stay_where_they_are() -> None:
    sizing = planned([(of_offer(1, FIRM), load(1, gangs=1))])
    assert (sizing.launches, sizing.moved, sizing.rates) == ((), (), {})


def test_the_floor_of_others_than_spot_machines_stays() -> None:
    pool = spec(0, 9, offers=(SPOT, FIRM), migrates_runs=True, spot=SpotRule(on_demand_slots=1))
    assert not planned([(of_offer(1, FIRM), load(1))], pool=pool).launches


def test_nobody_is_moved_while_something_waits_or_where_the_pool_does_not_want_it() -> None:
    machines = [(of_offer(1, FIRM), load(1)), (of_offer(2, SPOT), load())]
    assert not planned(machines, demand=Demand(waiting=8, largest=8, received_at=NOW)).moved
    assert not planned(machines, pool=spec(0, 9, offers=(SPOT, FIRM))).moved


def test_one_place_is_given_once_while_runs_are_on_their_way() -> None:
    leaving, firm = of_offer(1, FIRM, InstanceState.DRAINING), of_offer(2, FIRM)
    machines = [(leaving, load(1)), (firm, load(1)), (of_offer(3, SPOT), load())]
    assert planned(machines[1:]).moved == (firm,)
    assert not planned(machines).moved


def test_waste_adds_up_and_is_forgotten_when_there_is_none() -> None:
    waste, worker = ExcessCost(), of_offer(1, FIRM).worker
    waste.sample({worker: 3.6}, NOW)
    waste.sample({worker: 3.6}, NOW + seconds(10))
    assert waste.spent == {worker: 0.01}
    waste.sample({}, NOW + seconds(20))
    waste.sample({worker: 3.6}, NOW + seconds(30))
    assert waste.spent[worker] == 0.01
