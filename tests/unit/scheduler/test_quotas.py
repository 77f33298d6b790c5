"""Guaranteed, borrowed, maximum: kept whatever happens, given back on demand, and never fought over without end."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import example, given, settings, strategies as st

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.planning.plan import Grant
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import RunExit
from shared.ids import TenantId
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, Event, World

FAIR = plain(POOL, order="fair_share", preemption=True)


def give_back(world: World) -> set[int]:
    """All that were asked give their slots back; their numbers."""
    asked = {number for number in world.running() if world.run(number).preempted}
    for number in asked:
        world.exit(number, RunExit(acknowledged=Signal.PREEMPT))
    return asked


@pytest.mark.parametrize("order", ["fifo", "priority", "fair_share"])
def test_a_maximum_holds_under_every_order_and_holds_up_nobody(order: str) -> None:
    world = World(plain(POOL, order=order))
    for name in "abcd":
        world.worker(name)
    world.quota(0, maximum=2)
    for number in range(1, 5):
        world.want(number, tenant=0, experiment=0)
    world.want(11, tenant=1, experiment=1)
    demand = world.plan().demand[POOL]
    assert (demand.waiting, demand.idle) == (0, 1)
    world.cycle()
    assert world.running() == {1, 2, 11}
    told = explain(world.cluster, world.trial(3))
    assert (told.code, told.message) == (
        "tenant_quota_reached", "its tenant holds 2 of the 2 slots that its quota in pool default allows",
    )  # fmt: skip
    world.quota(0, maximum=3)
    world.cycle()
    assert world.running() == {1, 2, 3, 11}


def test_a_workspace_has_a_maximum_of_its_own() -> None:
    world = World(FAIR)
    world.worker("a", 4)
    world.quota(0, maximum=1, workspace="lab")
    world.want(1, workspace="lab")
    world.want(2, workspace="lab")
    world.want(3, experiment=5, workspace="hall")
    world.cycle()
    assert world.running() == {1, 3}
    assert explain(world.cluster, world.trial(2)).code == "workspace_quota_reached"


def test_an_experiment_runs_no_more_trials_at_a_time_than_it_may() -> None:
    world = World()
    world.worker("a", 8)
    world.set_policy(1, max_trials=2)
    for number in range(1, 5):
        world.want(number, 2, experiment=1)
    world.cycle()
    assert world.running() == {1, 2}
    assert explain(world.cluster, world.trial(3)).code == "max_trials_reached"
    world.exit(1)
    world.cycle()
    assert world.running() == {2, 3}


def test_what_was_borrowed_is_given_back_to_whom_it_is_guaranteed_and_not_more() -> None:
    world = World(FAIR)
    for name in "abcd":
        world.worker(name)
    world.quota(0, guaranteed=2)
    world.quota(1, guaranteed=2)
    for number in range(1, 5):
        world.want(number, tenant=0, experiment=0)
    world.cycle()
    for number in range(11, 15):
        world.want(number, tenant=1, experiment=1)
    world.cycle()
    assert len(give_back(world)) == 2
    world.cycle()
    assert len(world.running() & {11, 12, 13, 14}) == 2
    assert give_back(world) == set() and world.plan().signals == ()


def test_slots_withheld_for_a_tenant_do_not_count_toward_its_guarantee() -> None:
    """The next plan may give them to another tenant, so the run would be preempted for nothing."""
    world = World(FAIR)
    for name, slots in {"a": 4, "b": 2, "c": 2}.items():
        world.worker(name, slots)
    world.quota(0, guaranteed=2)
    world.quota(2, guaranteed=3)
    world.want(1, 2, tenant=1, experiment=1)
    world.want(2, 3, tenant=1, experiment=1)
    world.want(3, 2, tenant=2, experiment=2)
    world.cycle()
    world.want(4, 3, tenant=2, experiment=2)
    world.cycle()
    world.want(5, 2, tenant=0, experiment=0)
    world.cycle()
    world.want(6, 3, tenant=1, experiment=1)
    world.cycle()
    assert give_back(world) == {1, 2}, "the tenant of run 3 holds 2 of 3 guaranteed slots"
    world.cycle()
    assert world.running() >= {3, 4, 5}


def test_those_within_their_guarantee_go_first() -> None:
    world = World(FAIR)
    world.worker("a")
    world.worker("b")
    world.quota(1, guaranteed=1)
    world.want(1, tenant=0, experiment=0)
    world.want(2, tenant=0, experiment=0)
    world.want(11, tenant=1, experiment=1)
    world.want(12, tenant=1, experiment=1)
    world.cycle()
    assert world.running() == {1, 11}


def test_priority_does_not_reach_into_the_guarantee_of_another() -> None:
    world = World(plain(POOL, preemption=True))
    world.worker("a")
    world.worker("b")
    world.quota(0, guaranteed=1)
    world.set_policy(0, 90)
    world.set_policy(1, 1)
    world.want(1, tenant=0, experiment=0)
    world.want(2, tenant=0, experiment=0)
    world.cycle()
    world.want(11, tenant=1, experiment=1)
    world.want(12, tenant=1, experiment=1)
    world.cycle()
    assert len(give_back(world)) == 1


def test_a_run_is_left_alone_at_first_and_a_trial_after_some_times() -> None:
    world = World(plain(POOL, preemption=True, min_run=timedelta(minutes=1), max_preemptions=1))
    world.worker("a")
    world.set_policy(0, 90)
    world.set_policy(1, 1)
    world.want(1)
    world.cycle()
    world.want(2, experiment=1)
    world.wait(59)
    assert world.plan().signals == ()
    world.wait(2)
    world.cycle()
    assert give_back(world) == {1}
    world.cycle()
    world.exit(2)
    world.cycle()
    assert world.running() == {1}
    world.wait(3600)
    world.want(3, experiment=1)
    assert world.plan().signals == (), "once was enough"


def test_the_one_that_saved_last_is_asked_first() -> None:
    world = World(plain(POOL, preemption=True))
    world.worker("a")
    world.worker("b")
    world.set_policy(0, 90)
    world.set_policy(1, 1)
    world.want(1)
    world.want(2)
    world.cycle()
    world.wait(600)
    first = world.placement(1).popitem()[0]
    run = world.run(1)
    saved = list(world.observed(first))
    world.worker(
        first, allocations=tuple(type(o)(o.allocation, o.run, o.token, checkpoints=1) for o in saved)
    )
    assert world.run(1).progress.saved_at and run.progress.saved_at is None
    world.want(3, experiment=1)
    world.cycle()
    assert give_back(world) == {1}


MOVE = st.one_of(
    st.tuples(st.just("want"), st.integers(0, 2), st.integers(1, 4)),
    st.tuples(st.just("exit"), st.integers(0, 30)),
    st.tuples(st.just("quota"), st.integers(0, 2), st.integers(0, 4), st.none() | st.integers(0, 4)),
    st.tuples(st.just("cycle")),
)
MOVES = st.lists(MOVE, max_size=30)
BOOKINGS = st.tuples(st.just("book"), st.integers(0, 2), st.integers(1, 4))


def play(policy: PoolPolicy, moves: list[Event], check: Callable[[World], object]) -> World:
    world, number = World(policy), 0
    for name, slots in {"a": 4, "b": 2, "c": 2}.items():
        world.worker(name, slots)
    for tenant in range(3):
        world.set_policy(tenant, priority=10 * (tenant + 1))
    for move in moves:
        match move:
            case ("want", tenant, slots):
                number += 1
                world.want(number, slots, tenant=tenant, experiment=tenant)
            case ("exit", at) if world.running():
                world.exit(sorted(world.running())[at % len(world.running())])
            case ("quota", tenant, guaranteed, more):
                world.quota(tenant, guaranteed, None if more is None else guaranteed + more)
            case ("book", tenant, slots):
                world.reserve(tenant, slots, 0, 100_000)
            case ("cycle",):
                check(world)
    return world


GRANTED_IN_THE_SAME_PLAN = [
    ("want", 0, 2),
    ("want", 0, 2),
    ("want", 1, 1),
    ("want", 1, 2),
    ("want", 2, 3),
    ("quota", 0, 2, None),
    ("quota", 1, 2, None),
    ("quota", 2, 1, None),
    ("cycle",),
    ("exit", 0),
    ("cycle",),
]
"""Tenant 1 holds 1 of 2 guaranteed slots. The last plan grants it 2 more and takes 1."""


ONLY_WITHHELD_IN_THE_SAME_PLAN = [
    ("quota", 0, 2, None),
    ("quota", 2, 3, None),
    ("want", 1, 2),
    ("want", 1, 3),
    ("want", 2, 2),
    ("cycle",),
    ("want", 2, 3),
    ("cycle",),
    ("want", 0, 2),
    ("cycle",),
    ("cycle",),
]
"""Tenant 2 holds 2 of 3 guaranteed slots. The last plan withholds 3 for it until a run of tenant 1 has left."""


@settings(max_examples=80, deadline=None)
@given(MOVES, st.sampled_from(["fifo", "priority", "fair_share"]), st.booleans())
@example(moves=GRANTED_IN_THE_SAME_PLAN, order="fair_share", exclusive=False)
@example(moves=ONLY_WITHHELD_IN_THE_SAME_PLAN, order="fair_share", exclusive=False)
def test_no_grant_goes_beyond_a_maximum_and_no_reclaim_below_a_guarantee(
    moves: list[Event], order: str, exclusive: bool
) -> None:
    """A tenant that loses runs to another one keeps its guarantee, counting what the same plan grants it."""

    def check(world: World) -> None:
        shares = world.cluster.pools[POOL].shares
        planned = world.plan()
        gained: Counter[TenantId] = Counter()
        for grant in planned.grants:
            gained[grant_tenant(world, grant)] += sum(slots for _, slots in grant.placement)
        lost: Counter[TenantId] = Counter()
        losers: set[TenantId] = set()
        for signal in planned.signals:
            run = world.cluster.runs[signal.run]
            lost[run.tenant] += int(run.slots)
            assert signal.for_trial is not None
            if world.cluster.trials[signal.for_trial].request.tenant != run.tenant:
                losers.add(run.tenant)
        for tenant in losers:
            node = shares.tenant(tenant)
            assert node is not None
            assert node.held_after_leaving + gained[tenant] - lost[tenant] >= node.quota.guaranteed
        world.cycle()
        for tenant in gained:
            node = shares.tenant(tenant)
            assert node is not None
            assert node.quota.maximum is None or node.held <= node.quota.maximum

    play(plain(POOL, order=order, preemption=True, exclusive=exclusive), moves, check)


def grant_tenant(world: World, grant: Grant) -> TenantId:
    return world.cluster.trials[grant.trial].request.tenant


WHAT_WAS_GIVEN_BACK_WENT_TO_WHO_GAVE_IT = [
    ("want", 0, 1),
    ("want", 0, 3),
    ("cycle",),
    ("want", 0, 1),
    ("want", 0, 1),
    ("want", 0, 2),
    ("want", 2, 1),
    ("quota", 2, 1, None),
]


WHAT_IS_GUARANTEED_WAS_BOOKED = [
    ("quota", 0, 1, None),
    ("book", 1, 4),
    ("book", 2, 4),
    ("want", 0, 1),
    *[("want", 1, 1)] * 5,
    *[("want", 2, 1)] * 4,
]


@settings(max_examples=80, deadline=None)
@given(st.lists(MOVE | BOOKINGS, max_size=30), st.sampled_from(["priority", "fair_share"]), st.booleans())
@example(moves=WHAT_WAS_GIVEN_BACK_WENT_TO_WHO_GAVE_IT, order="priority", exclusive=False)
@example(moves=WHAT_IS_GUARANTEED_WAS_BOOKED, order="priority", exclusive=False)
def test_asking_comes_to_an_end(moves: list[Event], order: str, exclusive: bool) -> None:
    """When nothing new is wanted and all give back what they are asked for, soon nobody is asked any more."""
    world = play(
        plain(POOL, order=order, preemption=True, exclusive=exclusive),
        moves,
        lambda world: world.cycle(),
    )
    for _ in range(40):
        world.cycle()
        if not give_back(world) and not world.plan().grants:
            break
        world.wait(7)
    else:
        raise AssertionError("they keep taking from each other")
