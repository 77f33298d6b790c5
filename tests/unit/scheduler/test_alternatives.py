"""What would let a trial start is found by planning, holds when it is really done, and leaves the world as it was."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.alternatives import StartAlternative, alternatives
from services.scheduler.core.explaining.wait_reasons import binding_of
from services.scheduler.core.explaining.what_if import (
    AnyMachine,
    DifferentMaximum,
    DifferentPolicy,
    FewerSlots,
)
from services.scheduler.core.planning.plan import plan
from services.scheduler.core.reducers import requests
from services.scheduler.core.scheduling import run_cycle
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.pool import NO_QUOTA, PoolPolicy
from services.scheduler.core.state.records.trial import RequestState
from shared.ids import PoolName, TrialId
from shared.messages.trial_specs import DesiredState
from tests.support.policies import plain
from tests.unit.scheduler.test_properties import EVENTS, POLICIES, WORKERS, happen
from tests.unit.scheduler.world import POOL, Event, World, trial_id

OTHER = PoolName("other")
Crowd = tuple[list[tuple[int, bool]], list[int], int | None, int | None]
CROWD = st.tuples(
    st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=4, max_size=12),
    st.lists(st.integers(20, 60), min_size=3, max_size=3),
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 8),
)
"""Requests (slots, on one machine), priorities of three experiments, the first one's max_slots, and its tenant's maximum."""


def found(world: World, name: TrialId) -> list[StartAlternative]:
    planned = world.plan()
    reason = binding_of(world.cluster, world.cluster.trials[name], planned.refusals.get(name))
    return [one for one in alternatives(world.cluster, name, reason) if one is not None]


def waiting(world: World) -> Iterator[TrialId]:
    granted = {grant.trial for grant in world.plan().grants}
    for trial in list(world.cluster.trials.values()):
        if trial.state is RequestState.QUEUED and trial.id not in granted:
            yield trial.id


def carry_out(world: World, name: TrialId, one: StartAlternative) -> None:
    """Does what a person would do."""
    trial = world.cluster.trials[name]
    match one.change:
        case FewerSlots() | AnyMachine():
            fewer = trial.request.needs._replace(where=None)
            if isinstance(one.change, FewerSlots):
                slots = one.change.slots
                fewer = trial.request.needs._replace(min_slots=slots, max_slots=slots)
            world.places += 1
            request = replace(
                trial.request, version=trial.request.version + 1, desired_state=DesiredState.KILL
            )
            world.cluster.apply(requests.on_request(world.cluster, request, 0, world.now))
            fresh = replace(
                trial.request, version=request.version + 1, request=trial.request.request + 1, needs=fewer
            )
            world.cluster.apply(requests.on_request(world.cluster, fresh, world.places, world.now))
        case DifferentPolicy(policy):
            world.cluster.apply(
                requests.on_experiment_policy(world.cluster, trial.request.experiment, policy)
            )
        case DifferentMaximum(path, maximum):
            before = world.cluster.pools[POOL].shares.quotas.get(path, NO_QUOTA)
            world.cluster.apply(
                requests.on_quota(world.cluster, POOL, path, replace(before, maximum=maximum))
            )


def two_pools(policy: PoolPolicy) -> World:
    world = World(policy)
    world.cluster.put_pool(replace(policy, name=OTHER))
    for name, slots in WORKERS.items():
        world.worker(name, slots)
    world.worker("z", 2, pool=OTHER)
    return world


def crowded(crowd: Crowd, policy: PoolPolicy) -> World:
    requests, priorities, cap, maximum = crowd
    world = two_pools(policy)
    for experiment, priority in enumerate(priorities):
        world.set_policy(experiment, priority, cap if experiment == 0 else None)
    world.quota(0, guaranteed=3, maximum=maximum)
    for number, (slots, single) in enumerate(requests, start=1):
        world.want(number, slots, single_node=single, experiment=number % 3, tenant=number % 3 % 2)
        if number % 4 == 0:
            world.cycle()
            world.wait(10)
    return world


@settings(max_examples=150, deadline=None)
@given(CROWD, EVENTS, POLICIES)
def test_what_would_start_does_start_when_it_is_really_done(
    crowd: Crowd, events: list[Event], policy: PoolPolicy
) -> None:
    world = crowded(crowd, policy)
    for event in events:
        happen(world, event)
    world.cycle()
    for name in list(waiting(world)):
        for one in found(world, name):
            tried = deepcopy(world)
            carry_out(tried, name, one)
            planned = plan(tried.cluster, list(tried.cluster.pools))
            if one.start == "now":
                assert name in {grant.trial for grant in planned.grants}, one
                run_cycle(tried.cluster, (), tried.next_token, tried.now)
                assert tried.cluster.trials[name].state is RequestState.RUNNING, one
            else:
                assert planned.refusals[name] == "preempting", one


@settings(max_examples=60, deadline=None)
@given(CROWD, EVENTS, POLICIES)
def test_asking_changes_nothing_then_or_later(crowd: Crowd, events: list[Event], policy: PoolPolicy) -> None:
    asked, left_alone = crowded(crowd, policy), crowded(crowd, policy)
    for event in events:
        for world in (asked, left_alone):
            happen(world, event)
        changes = deepcopy(asked.cluster.unsaved)
        for name in list(waiting(asked)):
            found(asked, name)
        assert asked.cluster.unsaved == changes
        assert asked.plan() == left_alone.plan()


def busy(policy: PoolPolicy, **more: object) -> World:
    """Eight slots on one machine, six of them taken by others of lower rank."""
    world = World(policy)
    world.worker("a", 8)
    world.set_policy(0, 50)
    world.set_policy(1, 42)
    world.set_policy(2, 30)
    world.want(1, 6, experiment=0)
    world.cycle()
    return world


def told(world: World, number: int) -> dict[str, tuple[object, str]]:
    return {one.kind: (one.number or one.pool, one.start) for one in found(world, trial_id(number))}


def test_fewer_slots_are_as_many_as_would_start_now() -> None:
    world = busy(plain(POOL))
    world.want(2, 8, experiment=1)
    world.cycle()
    assert told(world, 2) == {"slots": (2, "now")}


def test_any_machine_helps_who_waits_for_one() -> None:
    world = World(plain(POOL))
    world.worker("a", 1, labels=(("rack", "r1"),))
    world.worker("b", 1)
    where = PlacementConstraint(required=(("rack", "r1"),))
    world.want(1, where=where)
    world.cycle()
    world.want(2, where=where)
    world.cycle()
    assert told(world, 2)["labels"] == (None, "now")


def test_a_priority_helps_where_it_gives_the_right_to_ask() -> None:
    world = busy(plain(POOL, preemption=True))
    world.set_policy(3, 60)
    world.want(2, 8, experiment=3)
    world.cycle()
    assert told(world, 2) == {"slots": (2, "now"), "priority": (49, "soon")}
    assert "priority" not in told(busy_with(plain(POOL, order="fifo")), 2)


def busy_with(policy: PoolPolicy) -> World:
    world = busy(policy)
    world.want(2, 8, experiment=1)
    world.cycle()
    return world


def test_a_priority_helps_where_it_goes_before_the_head() -> None:
    world = busy(plain(POOL))
    world.want(2, 8, experiment=2)
    world.want(3, 2, experiment=1)
    world.cycle()
    assert told(world, 3) == {"priority": (29, "now")}, "the free slots are kept for the head"


def test_limits_that_bind_are_named_with_what_would_do() -> None:
    world = busy(plain(POOL))
    world.set_policy(1, 42, max_slots=1)
    world.quota(0, maximum=7)
    world.want(2, 2, experiment=1)
    world.cycle()
    assert told(world, 2) == {"slots": (1, "now")}, "the tenant's maximum stands behind the experiment's"
    world.quota(0, maximum=8)
    assert told(world, 2) == {"slots": (1, "now"), "max_slots": (2, "now")}
    world.set_policy(1, 42)
    world.quota(0, maximum=7)
    assert told(world, 2) == {"slots": (1, "now"), "tenant_maximum": (8, "now")}


def test_another_pool_counts_when_the_whole_experiment_goes_there() -> None:
    world = two_pools(plain(POOL))
    world.want(1, 9, experiment=0)
    world.want(2, 2, experiment=1)
    world.want(3, 2, experiment=1)
    world.cycle()
    assert told(world, 2)["pool"] == ("other", "now")
    assert "pool" not in told(world, 3), "the first of its experiment would take what is there"
