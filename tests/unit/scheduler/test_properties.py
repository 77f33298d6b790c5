"""Whatever happens: capacity is never exceeded, gangs are whole, equal events give equal plans, nobody starves, closed is closed."""

from datetime import timedelta

from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.planning.plan import plan
from services.scheduler.core.reducers import draining, requests
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Closed
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import RunExit
from shared.ids import WorkerId
from shared.messages.trial_specs import DesiredState, Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, Event, World, trial_id

WORKERS = {"a": 1, "b": 2, "c": 2, "d": 4}
RACKS = {"a": "r1", "b": "r1", "c": "r2", "d": "r2"}
WHERES = (
    None,
    None,
    PlacementConstraint(required=(("rack", "r1"),)),
    PlacementConstraint(preferred=(("rack", "r2"),), excluded=(WorkerId("d"),)),
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("want"), st.integers(1, 12), st.integers(0, 5), st.booleans(), st.sampled_from(WHERES)
        ),
        st.tuples(st.just("wanted"), st.integers(1, 12), st.sampled_from(list(DesiredState))),
        st.tuples(
            st.just("exit"), st.integers(1, 12), st.sampled_from(["ok", "fail", "preempt", "checkpoint"])
        ),
        st.tuples(st.just("member"), st.integers(1, 12), st.booleans()),
        st.tuples(st.just("silence"), st.sampled_from(list(WORKERS))),
        st.tuples(st.just("heard"), st.sampled_from(list(WORKERS)), st.booleans()),
        st.tuples(st.just("moved"), st.sampled_from(list(WORKERS)), st.sampled_from(["r1", "r2"])),
        st.tuples(st.just("drain"), st.sampled_from(list(WORKERS)), st.booleans()),
        st.tuples(
            st.just("slot"), st.sampled_from(list(WORKERS)), st.integers(0, 1), st.sampled_from([False, True])
        ),
        st.tuples(st.just("policy"), st.integers(0, 2), st.integers(1, 99), st.none() | st.integers(1, 6)),
        st.tuples(st.just("quota"), st.integers(0, 1), st.integers(0, 6), st.none() | st.integers(0, 6)),
        st.tuples(st.just("settled"), st.integers(1, 12)),
        st.tuples(st.just("reserve"), st.integers(0, 1), st.integers(1, 6), st.sampled_from([0, 10, 80])),
        st.tuples(st.just("wait"), st.sampled_from([0.5, 4, 10, 75])),
        st.tuples(st.just("cycle")),
    ),
    max_size=60,
)
EXITS = {
    "ok": RunExit(),
    "fail": RunExit(exit_code=1),
    "preempt": RunExit(acknowledged=Signal.PREEMPT),
    "checkpoint": RunExit(exit_code=1, checkpoints=1),
}
POLICIES = st.builds(
    PoolPolicy,
    st.just(POOL),
    preemption=st.booleans(),
    exclusive=st.booleans(),
    order=st.sampled_from(["priority", "priority", "fifo", "fair_share"]),
    ageing=st.none() | st.just(timedelta(seconds=20)),
    half_life=st.just(timedelta(minutes=1)),
    min_run=st.sampled_from([timedelta(0), timedelta(seconds=15)]),
    max_preemptions=st.none() | st.integers(0, 2),
    elastic=st.booleans(),
    quantum=st.none() | st.just(timedelta(seconds=20)),
    defragment=st.booleans(),
    topology=st.sampled_from([(), ("rack",)]),
    placement=st.sampled_from(["best_fit", "spread"]),
)


def happen(world: World, event: Event) -> None:
    match event:
        case ("want", number, slots, single, where):
            next_request = (
                world.trial(number).request.request + 1 if trial_id(number) in world.cluster.trials else 1
            )
            version = world.places + 1
            world.want(
                number, slots, version=version, request=next_request, single_node=single, where=where,
                tenant=number % 3 % 2, experiment=number % 3,
            )  # fmt: skip
        case ("wanted", number, wanted) if trial_id(number) in world.cluster.trials:
            request = world.trial(number).request
            world.want(
                number, request.needs.max_slots, wanted, world.places + 1,
                request=request.request, tenant=number % 3 % 2, experiment=number % 3,
            )  # fmt: skip
        case ("exit", number, how) if number in world.running():
            world.exit(number, EXITS[how])
        case ("member", number, well) if number in world.running():
            share = world.run(number).shares[-1]
            world.exit(number, RunExit(exit_code=0 if well else 1), workers=(share.worker,))
        case ("silence", name) if WorkerId(name) in world.cluster.workers:
            world.silence(name)
        case ("heard", name, keeps):
            labels = world.cluster.workers[WorkerId(name)].labels
            world.worker(name, WORKERS[name], labels=labels, **({} if keeps else {"allocations": ()}))
        case ("moved", name, rack):
            world.worker(name, WORKERS[name], labels=(("rack", rack),))
        case ("drain", name, undo):
            world.cluster.apply(draining.on_drain(world.cluster, WorkerId(name), reclaim=not undo, undo=undo))
        case ("slot", name, slot, undo):
            world.cluster.apply(draining.on_slot(world.cluster, WorkerId(name), slot, undo))
        case ("policy", experiment, priority, cap):
            world.set_policy(experiment, priority, cap)
        case ("quota", tenant, guaranteed, more):
            world.quota(tenant, guaranteed, None if more is None else guaranteed + more)
        case ("reserve", tenant, slots, begin_s):
            world.reserve(tenant, slots, begin_s, begin_s + 60)
        case ("wait", seconds):
            world.wait(seconds)
        case ("settled", number) if trial_id(number) in world.cluster.trials and world.trial(number).run:
            world.cluster.apply(requests.on_settled(world.cluster, world.run(number).id, world.now))
        case ("cycle",):
            world.cycle()


def check(world: World) -> None:
    for worker in world.cluster.workers.values():
        taken = [slot for hold in worker.held.values() for slot in hold.slot_ids]
        assert len(taken) == len(set(taken)), "a slot was granted twice"
        if world.policy.exclusive:
            assert len({hold.tenant for hold in worker.held.values() if hold.tenant}) <= 1
    for trial in world.cluster.trials.values():
        if trial.state == "running":
            assert trial.run is not None and not world.cluster.runs[trial.run].is_ended
        if trial.state in ("queued", "awaiting"):
            told = explain(world.cluster, trial)
            assert told.code and told.message


@settings(max_examples=150, deadline=None)
@given(EVENTS, POLICIES)
def test_capacity_gangs_and_records_hold_whatever_happens(events: list[Event], policy: PoolPolicy) -> None:
    world = World(policy)
    for name, slots in WORKERS.items():
        world.worker(name, slots, labels=(("rack", RACKS[name]),))
    for event in events:
        happen(world, event)
        check(world)
        for run in world.cycle() if event[0] == "cycle" else []:
            assert run.slots == world.cluster.trials[run.trial].request.needs.max_slots, "all or nothing"
            assert all(len(share.slot_ids) == share.slots for share in run.shares)
            assert len(run.shares) == 1 or policy.exclusive
            for share in run.shares:
                assert not world.cluster.workers[share.worker].disabled.intersection(share.slot_ids)
            where = world.cluster.trials[run.trial].request.needs.where
            labels = {share.worker: world.cluster.workers[share.worker].labels for share in run.shares}
            assert where is None or all(where.admits(worker, own) for worker, own in labels.items())


@settings(max_examples=60, deadline=None)
@given(EVENTS, POLICIES)
def test_equal_events_and_equal_records_give_equal_plans_and_planning_changes_nothing(
    events: list[Event], policy: PoolPolicy
) -> None:
    one, other = World(policy), World(policy)
    for world in (one, other):
        for name, slots in WORKERS.items():
            world.worker(name, slots, labels=(("rack", RACKS[name]),))
    for event in events:
        happen(one, event)
        happen(other, event)
        planned, rebuilt = other.plan(), one.rebuilt()
        assert one.plan() == planned
        assert plan(rebuilt, [POOL]) == planned
        assert sums(one.cluster) == sums(rebuilt), (
            "what holders hold and ask for, also where no plan looks at it"
        )


def sums(cluster: Cluster) -> dict[tuple[object, ...], tuple[object, ...]]:
    """What is counted of each holder of the pool's slots, by its path. Bits of a mask are given in the order of first sight: it is read."""
    pool = cluster.pools[POOL]
    found: dict[tuple[object, ...], tuple[object, ...]] = {}
    nodes = [pool.shares.root]
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children.values())
        if not node.is_idle:
            shapes = frozenset(needs for needs, bit in pool.queue.shapes.items() if node.mask & bit)
            found[node.path] = (node.held, node.leaving, node.runs, node.asked, node.usable, shapes)
    return found


@settings(max_examples=60, deadline=None)
@given(EVENTS, POLICIES)
def test_every_request_closes_at_most_once_and_stays_closed(events: list[Event], policy: PoolPolicy) -> None:
    world = World(policy)
    for name, slots in WORKERS.items():
        world.worker(name, slots, labels=(("rack", RACKS[name]),))
    closed = set()
    for event in events:
        happen(world, event)
        facts, world.cluster.unsaved.facts = world.cluster.unsaved.facts, []
        for fact in facts:
            if isinstance(fact, Closed):
                key = (fact.trial.id, fact.trial.request.request)
                assert key not in closed
                closed.add(key)
        for trial, request in closed:
            record = world.cluster.trials[trial]
            assert record.is_closed or record.request.request > request


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=12),
    st.integers(1, 4),
    st.booleans(),
)
def test_nobody_starves_within_a_priority(
    requests: list[tuple[int, bool]], head: int, exclusive: bool
) -> None:
    """A gang that arrives first runs before all the slots have turned over twice, however many small ones follow."""
    world = World(plain(POOL, exclusive=exclusive))
    for name, slots in WORKERS.items():
        world.worker(name, slots, labels=(("rack", RACKS[name]),))
    for number, (slots, single) in enumerate(requests, start=1):
        world.want(number, slots, single_node=single)
    world.cycle()
    world.want(100, head)
    number = 200
    for _ in range(2 * len(requests) + 2):
        for running in sorted(world.running()):
            if running == 100:
                return
            world.exit(running)
            world.want(number)
            number += 1
            world.cycle()
    assert 100 in world.running()
