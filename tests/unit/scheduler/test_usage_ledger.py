"""Usage is what was really held: the ledger's sums equal an independent count, whatever happens to workers and leaders."""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given, settings, strategies as st

from services.scheduler.core.state.indexes.usage_ledger import SlotUsage, UsageLedger
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.worker import Liveness
from shared.ids import WorkerId
from tests.unit.scheduler.test_properties import EVENTS, POLICIES, WORKERS, happen
from tests.unit.scheduler.world import NOW, POOL, Event, World, tenant_id


class Books:
    """What the service keeps of a world's ledger: the newest record of each usage entry."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept: dict[object, SlotUsage] = {}

    def cycle(self, seconds: float = 0.0) -> None:
        """One turn, saved; then time passes."""
        self.world.cycle()
        self.kept |= {usage_entry.key: usage_entry for usage_entry in self.world.unsaved.usage_entries}
        self.world.now += timedelta(seconds=seconds)

    def slot_seconds(self, until: datetime | None = None) -> dict[object, float]:
        sums: defaultdict[object, float] = defaultdict(float)
        for one in self.kept.values():
            sums[one.tenant] += one.slots * ((one.until or self.world.now) - one.since).total_seconds()
        return dict(sums)


def books(**workers: int) -> Books:
    world = World()
    for name, slots in workers.items():
        world.worker(name, slots)
    return Books(world)


def test_slots_count_from_the_grant_until_the_worker_lets_go() -> None:
    kept = books(a=4)
    kept.world.want(1, 3)
    kept.cycle(90)
    kept.world.exit(1)
    kept.cycle(60)
    assert kept.slot_seconds() == {tenant_id(0): 270}


def test_a_gangs_late_member_counts_alone() -> None:
    kept = books(a=2, b=2)
    kept.world.want(1, 4)
    kept.cycle(10)
    kept.world.exit(1, workers=("a",))
    kept.cycle(20)
    kept.world.exit(1, workers=("b",))
    kept.cycle(5)
    assert kept.slot_seconds() == {tenant_id(0): 4 * 10 + 2 * 20}


def test_a_lost_workers_slots_count_for_nobody_even_when_it_returns_with_the_old_run() -> None:
    kept = books(a=2)
    kept.world.want(1, 2)
    kept.cycle(10)
    old = kept.world.observed("a")
    kept.world.silence("a")
    kept.cycle(100)
    kept.world.worker("a", 2, allocations=old)
    kept.cycle(30)
    assert kept.slot_seconds() == {tenant_id(0): 20}
    kept.world.worker("a", 2, allocations=())
    kept.cycle(10)
    kept.cycle(0)
    assert kept.slot_seconds() == {tenant_id(0): 20 + 2 * 10}, "granted anew, it counts anew"


def test_a_gang_that_lost_a_member_counts_the_others_until_they_have_gone() -> None:
    kept = books(a=1, b=1)
    kept.world.want(1, 2)
    kept.cycle(10)
    run = kept.world.run(1)
    kept.world.silence("b")
    kept.cycle(7)
    assert run.workers == {"a", "b"}
    kept.world.worker("a", 1, allocations=())
    kept.cycle(9)
    assert kept.slot_seconds() == {tenant_id(0): 2 * 10 + 1 * 7}


def test_the_next_term_goes_on_from_what_was_left_open() -> None:
    kept = books(a=2, gone=1)
    kept.world.want(1, 2)
    kept.cycle(10)
    later = UsageLedger()
    later.load(kept.kept.values())
    worker = kept.world.cluster.workers[WorkerId("a")]
    worker.has_heartbeat = False
    for allocation in list(worker.held):
        worker.release(allocation)
    later.follow(worker, NOW + timedelta(seconds=20))
    assert later.take_changes() == [], "it has not said yet what it has"
    worker.has_heartbeat = True
    later.follow(worker, NOW + timedelta(seconds=30))
    (ended,) = later.take_changes()
    assert (ended.since, ended.until) == (NOW, NOW + timedelta(seconds=30))


def test_what_stands_open_on_a_worker_that_is_no_more_ends() -> None:
    kept = books(a=2)
    kept.world.want(1, 2)
    kept.cycle(10)
    later = UsageLedger()
    later.load(kept.kept.values())
    later.end_unknown([WorkerId("b")], kept.world.now)
    assert [one.until for one in later.take_changes()] == [kept.world.now]


def test_a_leader_whose_clock_is_behind_takes_nothing_back() -> None:
    kept = books(a=1)
    kept.world.want(1)
    kept.cycle()
    kept.world.now -= timedelta(seconds=3)
    kept.world.exit(1, RunExit())
    kept.cycle()
    assert kept.slot_seconds() == {tenant_id(0): 0}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(EVENTS.map(lambda found: found[:3]), st.integers(0, 1000)), max_size=25), POLICIES)
def test_the_sums_equal_an_independent_count(
    steps: list[tuple[list[Event], int]], policy: PoolPolicy
) -> None:
    """Counted a second time by adding up, step by step, what live workers hold; what was there when one was lost is not."""
    world = World(policy)
    kept = Books(world)
    for name, slots in WORKERS.items():
        world.worker(name, slots)
    counted: Counter[object] = Counter()
    lost: set[object] = set()
    for events, seconds in steps:
        for event in events:
            if event == ("cycle",):
                kept.cycle()
            elif event[0] != "wait":
                happen(world, event)
        lost |= _held_by_lost(world)
        kept.cycle(seconds)
        lost |= _held_by_lost(world)
        for worker in world.cluster.workers.values():
            for allocation, hold in worker.held.items():
                if (
                    worker.liveness is Liveness.READY
                    and (worker.id, allocation) not in lost
                    and hold.slot_ids
                ):
                    counted[hold.tenant] += len(hold.slot_ids) * seconds
    sums = {tenant: held for tenant, held in kept.slot_seconds().items() if held}
    assert sums == {tenant: held for tenant, held in counted.items() if held}


def _held_by_lost(world: World) -> set[object]:
    return {
        (worker.id, allocation)
        for worker in world.cluster.workers.values()
        if worker.liveness is Liveness.LOST
        for allocation in worker.held
    }


def test_a_usage_entry_costs_what_its_pools_machines_cost_when_it_began() -> None:
    kept = books(a=4)
    pool = kept.world.cluster.pools[POOL]
    kept.world.cluster.put_pool(replace(pool.policy, price_per_slot_hour=2.5))
    kept.world.want(1, 3)
    kept.cycle(90)
    kept.world.cluster.put_pool(replace(pool.policy, price_per_slot_hour=9.0))
    kept.world.want(2, 1)
    kept.cycle(10)
    assert sorted((one.slots, one.price_per_slot_hour) for one in kept.kept.values()) == [(1, 9.0), (3, 2.5)]
