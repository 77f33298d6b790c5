"""Parts of slots under any events: no slot is ever shared by two tenants or given out beyond its whole, and all is counted exactly."""

from collections import Counter
from datetime import timedelta
from fractions import Fraction

from hypothesis import given, settings, strategies as st

from services.scheduler.core.planning.plan import plan
from services.scheduler.core.reducers import draining
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.published_events import Granted
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import Run, RunExit
from shared.ids import WorkerId
from shared.messages.trial_specs import WHOLE_SLOT, Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, Event, World, tenant_id, trial_id

WORKERS = {"a": 1, "b": 2, "c": 3}
PARTS = st.sampled_from([0, 0, 100, 250, 333, 500, 700, 999])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.integers(1, 14), st.integers(0, 3), PARTS, st.booleans()),
        st.tuples(st.just("want"), st.integers(1, 14), st.just(1), PARTS, st.booleans()),
        st.tuples(st.just("exit"), st.integers(1, 14), st.sampled_from([RunExit(), RunExit(acknowledged=Signal.PREEMPT)])),
        st.tuples(st.just("silence"), st.sampled_from(list(WORKERS))),
        st.tuples(st.just("heard"), st.sampled_from(list(WORKERS)), st.booleans()),
        st.tuples(st.just("drain"), st.sampled_from(list(WORKERS)), st.booleans()),
        st.tuples(st.just("policy"), st.integers(0, 2), st.integers(1, 99), st.none() | st.integers(1, 3)),
        st.tuples(st.just("quota"), st.integers(0, 1), st.integers(0, 3), st.none() | st.integers(0, 3)),
        st.tuples(st.just("wait"), st.sampled_from([0.25, 4, 10, 600])),
        st.tuples(st.just("cycle")),
        st.tuples(st.just("cycle")),
    ),
    max_size=60,
)  # fmt: skip
POLICIES = st.builds(
    PoolPolicy,
    st.just(POOL),
    preemption=st.booleans(),
    exclusive=st.booleans(),
    order=st.sampled_from(["priority", "fifo", "fair_share"]),
    half_life=st.just(timedelta(minutes=1)),
    elastic=st.booleans(),
    quantum=st.none() | st.just(timedelta(seconds=10)),
    defragment=st.booleans(),
    auxiliary_per_worker=st.integers(1, 2),
)


def happen(world: World, event: Event) -> None:
    match event:
        case ("want", number, slots, fraction, single) if trial_id(number) not in world.cluster.trials:
            world.want(
                number, 1 if fraction else slots, fraction=fraction, single_node=single,
                tenant=number % 3 % 2, experiment=number % 3,
            )  # fmt: skip
        case ("exit", number, how) if number in world.running():
            world.exit(number, how)
        case ("silence", name) if WorkerId(name) in world.cluster.workers:
            world.silence(name)
        case ("heard", name, keeps):
            world.worker(name, WORKERS[name], **({} if keeps else {"allocations": ()}))
        case ("drain", name, undo):
            world.cluster.apply(draining.on_drain(world.cluster, WorkerId(name), reclaim=not undo, undo=undo))
        case ("policy", experiment, priority, cap):
            world.set_policy(experiment, priority, cap)
        case ("quota", tenant, guaranteed, more):
            world.quota(tenant, guaranteed, None if more is None else guaranteed + more)
        case ("wait", seconds):
            world.wait(seconds)
        case ("cycle",):
            world.cycle()


def granted(world: World) -> list[Run]:
    """The runs that the last turn made, in order."""
    return [fact.run for fact in world.unsaved.facts if isinstance(fact, Granted)]


def check_slots(world: World) -> None:
    for worker in world.cluster.workers.values():
        taken: Counter[int] = Counter()
        tenants: dict[int, set[object]] = {}
        for hold in worker.held.values():
            for slot in hold.slot_ids:
                taken[slot] += hold.fraction or WHOLE_SLOT
                tenants.setdefault(slot, set()).add(hold.tenant)
        assert all(count <= WHOLE_SLOT for count in taken.values()), "more than a whole slot was granted"
        assert all(len(whose) == 1 for whose in tenants.values()), "two tenants share a slot"


def check_free(world: World) -> None:
    """The pool counts as free what no run has, and a slot that is shared as taken."""
    refresh(world.cluster)
    pool = world.cluster.pools[POOL]
    open_ones = [worker for worker in world.cluster.workers.values() if worker.is_open]
    assert pool.capacity.free == sum(len(worker.free_slot_ids) for worker in open_ones)
    root = pool.shares.root.held
    assert root == sum(
        (Fraction(share.fraction, WHOLE_SLOT) if share.fraction else share.slots)
        for run in world.cluster.runs.values()
        if not run.is_over
        for share in run.shares
        if share.worker not in run.gang.released
    )


@settings(max_examples=150, deadline=None)
@given(EVENTS, POLICIES)
def test_no_slot_is_shared_by_two_tenants_or_given_out_beyond_its_whole(
    events: list[Event], policy: PoolPolicy
) -> None:
    world = World(policy)
    for name, slots in WORKERS.items():
        world.worker(name, slots)
    for event in events:
        happen(world, event)
        check_slots(world)
        check_free(world)


@settings(max_examples=80, deadline=None)
@given(EVENTS, POLICIES)
def test_what_is_known_by_events_plans_what_the_records_plan_and_a_plan_changes_nothing(
    events: list[Event], policy: PoolPolicy
) -> None:
    world = World(policy)
    for name, slots in WORKERS.items():
        world.worker(name, slots)
    for event in events:
        happen(world, event)
        planned = world.plan()
        assert world.plan() == planned
        assert plan(world.rebuilt(), [POOL]) == planned


@settings(max_examples=80, deadline=None)
@given(EVENTS, POLICIES)
def test_no_grant_takes_a_tenant_beyond_its_maximum(events: list[Event], policy: PoolPolicy) -> None:
    world = World(policy)
    for name, slots in WORKERS.items():
        world.worker(name, slots)
    for event in events:
        happen(world, event)
        for run in granted(world) if event[0] == "cycle" else ():
            node = world.cluster.pools[POOL].shares.tenant(run.tenant)
            assert node is not None
            assert node.quota.maximum is None or node.held <= node.quota.maximum


ARRIVALS = st.tuples(
    st.integers(0, 1), st.sampled_from([100, 250, 333, 500, 700]), st.none() | st.integers(0, 12)
)


@settings(max_examples=80, deadline=None)
@given(st.lists(ARRIVALS, max_size=16), st.booleans())
def test_no_slot_is_opened_while_one_that_is_shared_has_room(
    arrivals: list[tuple[int, int, int | None]], exclusive: bool
) -> None:
    """Parts come one by one, some that run end: each joins a slot of its tenant where one has room, the tightest of them."""
    world = World(plain(POOL, exclusive=exclusive))
    for name, slots in WORKERS.items():
        world.worker(name, 2 * slots)
    for number, (tenant, fraction, ends) in enumerate(arrivals):
        if ends is not None and ends in world.running():
            world.exit(ends)
        workers = world.cluster.workers
        rooms = [
            room.left
            for worker in workers.values()
            for room in worker.shared_slots
            if room.tenant == tenant_id(tenant) and room.left >= fraction
        ]
        free = sum(len(worker.free_slot_ids) for worker in workers.values())
        world.want(number, fraction=fraction, tenant=tenant, experiment=tenant)
        runs = world.cycle()
        if world.cluster.pools[POOL].reserved is not None:
            return  # Nobody joins on a machine that is kept for who waits first.
        for run in runs:
            (share,) = run.shares
            (slot,) = share.slot_ids
            left = next(room.left for room in workers[share.worker].shared_slots if room.slot == slot)
            assert left == (min(rooms) if rooms else WHOLE_SLOT) - fraction
            assert free - sum(len(worker.free_slot_ids) for worker in workers.values()) == (not rooms)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([100, 333, 500, 999]), st.integers(1, 5000)), min_size=1, max_size=8)
)
def test_usage_of_parts_is_exact(runs: list[tuple[int, int]]) -> None:
    """What each run held, in thousandths times milliseconds, added up to the last one."""
    world = World()
    world.worker("a", 8)
    for number, (fraction, _) in enumerate(runs, start=1):
        world.want(number, fraction=fraction)
    world.cycle()
    started = world.now
    usage_entries = {usage_entry.key: usage_entry for usage_entry in world.unsaved.usage_entries}
    for number, (_, ms) in enumerate(runs, start=1):
        world.now = started + timedelta(milliseconds=ms)
        world.exit(number)
        world.cycle()
        usage_entries |= {usage_entry.key: usage_entry for usage_entry in world.unsaved.usage_entries}
    used = sum(
        usage_entry.slots * ((usage_entry.until - usage_entry.since) // timedelta(milliseconds=1))
        for usage_entry in usage_entries.values()
        if usage_entry.until is not None
    )
    assert used * WHOLE_SLOT == sum(fraction * ms for fraction, ms in runs)
