"""When a trial will start: from how long runs took, who goes first, and what limits it."""

import numpy as np
from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.forecast.start import StartForecast, forecast
from services.scheduler.core.explaining.wait_reasons import binding_of
from services.scheduler.core.state.indexes.run_durations import ENOUGH, survival
from services.scheduler.core.state.records.labels import PlacementConstraint, labels_of
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import PoolName
from shared.messages.trial_specs import DesiredState
from tests.support.policies import plain
from tests.unit.scheduler.test_alternatives import CROWD, Crowd, crowded, waiting
from tests.unit.scheduler.test_properties import POLICIES
from tests.unit.scheduler.world import POOL, World, experiment_id

FIFO = plain(POOL, order="fifo", exclusive=False)
MINUTE_MS = 60_000


def expected(world: World, number: int) -> StartForecast | None:
    trial = world.trial(number)
    reason = binding_of(world.cluster, trial, world.plan().refusals.get(trial.id))
    return forecast(world.cluster, trial, reason, np.random.default_rng(7))


def surely(world: World, number: int) -> StartForecast:
    found = expected(world, number)
    assert found is not None
    return found


def served(slots: int = 1, lengths: tuple[float, ...] = (1.0,) * ENOUGH, policy: PoolPolicy = FIFO) -> World:
    """A machine on which runs of these minutes have ended, one after the other; trials 1 and on are free to use."""
    world = World(policy)
    world.worker("a", slots)
    for number, minutes in enumerate(lengths, start=100):
        world.want(number, slots)
        world.cycle()
        world.wait(60 * minutes)
        world.exit(number)
    return world


def test_nothing_is_said_before_enough_runs_have_ended() -> None:
    world = served(lengths=(1.0,) * (ENOUGH - 1))
    world.want(1)
    world.want(2)
    world.cycle()
    assert expected(world, 2) is None
    world.wait(60)
    world.exit(1)
    world.cycle()
    world.want(3)
    world.cycle()
    assert surely(world, 3).runs == ENOUGH


def test_it_starts_when_the_run_before_it_and_those_ahead_have_had_their_time() -> None:
    world = served()
    for number in (1, 2, 3):
        world.want(number)
    world.cycle()
    world.wait(30)
    second, third = surely(world, 2), surely(world, 3)
    assert second.earliest_ms < 0.5 * MINUTE_MS < second.latest_ms
    assert third.earliest_ms < 1.5 * MINUTE_MS < third.latest_ms
    assert third.expected_ms > second.expected_ms


def test_the_time_that_the_run_before_it_has_taken_is_subtracted() -> None:
    world = served(lengths=(9.0, 10.0, 10.0, 10.0, 11.0))
    world.want(1)
    world.want(2)
    world.cycle()
    left = []
    for minutes in (0, 3, 3, 2):
        world.wait(60 * minutes)
        left.append(surely(world, 2).expected_ms / MINUTE_MS)
    for expected_min, minutes_left in zip(left, (10, 7, 4, 2), strict=True):
        assert 0.6 * minutes_left < expected_min < 1.6 * minutes_left, left


def test_a_run_that_outlasts_all_others_is_not_about_to_end() -> None:
    world = served()
    world.want(1)
    world.want(2)
    world.cycle()
    early = surely(world, 2).expected_ms
    world.wait(600)
    assert surely(world, 2).expected_ms > 2 * early


def test_a_request_for_a_whole_machine_waits_for_all_that_runs_there() -> None:
    world = served(slots=2, lengths=(1.0, 3.0) * ENOUGH)
    world.want(1)
    world.want(2)
    world.cycle()
    world.want(3, 2)
    world.cycle()
    gang = surely(world, 3).expected_ms
    world.set_policy(1, 42)
    world.want(4, 1, experiment=1)
    one = surely(world, 4).expected_ms
    assert gang < one, "the gang goes first, and takes the machine"
    world.want(3, 2, DesiredState.KILL, version=2)
    world.cycle()
    assert surely(world, 4).expected_ms < gang, "one slot is free before both are"


def test_a_limit_counts_as_well_as_the_machines() -> None:
    world = served(slots=4)
    world.set_policy(0, 42, max_slots=1)
    world.want(1)
    world.want(2)
    world.want(3)
    world.cycle()
    assert binding_of(world.cluster, world.trial(2)) == "max_slots"
    assert 0 < surely(world, 2).expected_ms < surely(world, 3).expected_ms


def test_what_no_end_of_a_run_brings_is_not_foretold() -> None:
    world = served()
    world.want(1, 5)
    world.cycle()
    assert expected(world, 1) is None, "larger than the pool"
    world.want(2)
    world.cycle()
    assert expected(world, 2) is None, "it runs"


@settings(max_examples=60, deadline=None)
@given(CROWD, POLICIES, st.integers(0, 3))
def test_asking_is_repeatable_ordered_and_changes_nothing(
    crowd: Crowd, policy: PoolPolicy, minutes: int
) -> None:
    world = crowded(crowd, policy)
    for number in range(ENOUGH):
        for pool in (POOL, PoolName("other")):
            world.cluster.run_durations.add(pool, experiment_id(0), MINUTE_MS * (1 + number))
    world.cycle()
    world.wait(60 * minutes)
    before = world.plan()
    for name in list(waiting(world)):
        trial = world.cluster.trials[name]
        reason = binding_of(world.cluster, trial, before.refusals.get(name))
        found = forecast(world.cluster, trial, reason, np.random.default_rng(1))
        assert found == forecast(world.cluster, trial, reason, np.random.default_rng(1))
        if found is not None:
            assert 0 <= found.earliest_ms <= found.expected_ms <= found.latest_ms < float("inf")
    assert world.plan() == before


def test_runs_that_go_on_make_the_known_ones_look_short() -> None:
    doubt = np.zeros(1000)
    chance = np.random.default_rng(7).random(1000)
    ended = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.median(survival(ended, [], doubt).whole(chance)) < np.median(
        survival(ended, [6.0] * 5, doubt).whole(chance)
    )
    rests = survival(ended, [], doubt).rest(4.0, chance)
    assert np.all(rests >= 0) and np.median(rests) < 2


def test_a_request_for_some_machines_waits_for_those_alone() -> None:
    world = served(lengths=(1.0,) * ENOUGH)
    world.worker("b", labels=labels_of({"gpu": "new"}))
    needs = SlotNeeds(where=PlacementConstraint(required=labels_of({"gpu": "new"})))
    world.want(1, needs=needs)
    world.want(2, needs=needs)
    world.cycle()
    assert world.placement(1) == {"b": 1} and world.running() == {1}, "machine a is free, and will not do"
    world.wait(10)
    assert surely(world, 2).expected_ms > 0.4 * MINUTE_MS
