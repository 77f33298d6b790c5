"""Time slicing: who has had the slots for a quantum yields to an equal who waits; nobody sooner, nobody for nothing, nobody never."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from services.scheduler.core.planning.plan import SchedulingPlan, plan
from services.scheduler.core.reducers.run_outcomes import TIME_SLICE_OVER
from services.scheduler.core.state.published_events import Ended
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import Run, RunExit
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, trial_id

STEP_S = 10
YIELDED = RunExit(acknowledged=Signal.PREEMPT, checkpoints=0)


def sliced(quantum_s: float = 60, **more: object) -> PoolPolicy:
    return plain(POOL, quantum=timedelta(seconds=quantum_s), **more)


@dataclass
class Slicing:
    """A world that goes on step by step: runs save, those of `unsaved` excepted, and when they are asked give their slots back a step later."""

    world: World
    unsaved: frozenset[int] = frozenset()
    asked: list[tuple[Run, float]] = field(default_factory=list)

    def steps(self, count: int) -> Iterator[SchedulingPlan]:
        for _ in range(count):
            self.world.wait(STEP_S)
            for run in [run for run in self.world.cluster.runs.values() if run.preempted]:
                if not run.is_ended:
                    self.world.exit(run.trial.int - 1000, YIELDED)
            for number in self.world.running() - self.unsaved:
                self.world.save(number)
            planned = self.world.plan()
            for signal in planned.signals:
                run = self.world.cluster.runs[signal.run]
                self.asked.append((run, (self.world.now - run.granted_at).total_seconds()))
            self.world.cycle()
            yield planned


def started(
    policy: PoolPolicy, workers: dict[str, int], *requests: tuple[int, int], tenants: int = 1
) -> Slicing:
    """Requests: (experiment, slots), one trial each, numbered from 1."""
    world = World(policy)
    for name, slots in workers.items():
        world.worker(name, slots)
    for number, (experiment, slots) in enumerate(requests, start=1):
        tenant = experiment % tenants
        world.want(number, slots, experiment=experiment, tenant=tenant, owner=f"user-{experiment}")
    world.cycle()
    return Slicing(world)


def test_two_experiments_take_turns_and_are_not_charged() -> None:
    slicing = started(sliced(), {"a": 4}, (1, 4), (2, 4))
    seen: list[set[int]] = []
    for _ in slicing.steps(40):
        running = slicing.world.running()
        if running and (not seen or seen[-1] != running):
            seen.append(running)
    assert seen[:5] == [{1}, {2}, {1}, {2}, {1}]
    assert min(held_s for _, held_s in slicing.asked) >= 60
    assert slicing.world.trial(1).preemptions == 0
    assert slicing.world.trial(1).restarts == 0


def test_the_one_that_yields_goes_behind_its_equals_and_before_the_less_important() -> None:
    slicing = started(sliced(), {"a": 1}, (1, 1), (2, 1), (3, 1), (4, 1))
    slicing.world.set_policy(4, priority=60)
    first: list[int] = []
    for _ in slicing.steps(60):
        first += [one for one in sorted(slicing.world.running()) if not first or first[-1] != one]
    assert first[:7] == [1, 2, 3, 1, 2, 3, 1]


def test_trials_of_one_experiment_do_not_take_turns_and_share_the_slots_with_others() -> None:
    slicing = started(sliced(), {"a": 4}, *[(1, 1)] * 8)
    list(slicing.steps(7))
    assert not slicing.asked
    for number in (20, 21, 22):
        slicing.world.want(number, experiment=2)
    list(slicing.steps(1))
    assert {run.experiment.int - 100 for run, _ in slicing.asked} == {1}
    list(slicing.steps(60))
    held = slicing.world.cluster.pools[POOL].shares.leaves
    assert sorted(leaf.held for leaf in held.values()) == [2, 2]
    assert len(slicing.asked) == 2, "where both hold as much nobody gains by a change"


def test_a_gang_gets_its_turn_among_small_ones() -> None:
    slicing = started(sliced(), {"a": 4}, (1, 1), (2, 1), (3, 1), (4, 1), (5, 4))
    list(slicing.steps(8))
    assert slicing.world.running() == {5}
    list(slicing.steps(8))
    assert slicing.world.running() == {1, 2, 3, 4}


def test_a_less_important_run_yields_too_and_a_more_important_one_does_not() -> None:
    slicing = started(sliced(order="priority"), {"a": 1}, (1, 1))
    slicing.world.set_policy(1, priority=50)
    slicing.world.want(2, experiment=2)
    slicing.world.set_policy(2, priority=10)
    list(slicing.steps(40))
    assert slicing.world.running() == {2}


def test_fair_share_gives_the_slot_to_who_has_had_less() -> None:
    policy = sliced(order="fair_share", half_life=timedelta(hours=1))
    slicing = started(policy, {"a": 1}, (1, 1), (2, 1), (3, 1))
    first: list[int] = []
    for _ in slicing.steps(80):
        first += [one for one in sorted(slicing.world.running()) if not first or first[-1] != one]
    assert first[:6] == [1, 2, 3, 1, 2, 3]


def test_a_run_that_yielded_says_so_and_its_trial_remembers_until_it_is_over() -> None:
    slicing = started(sliced(), {"a": 1}, (1, 1), (2, 1))
    list(slicing.steps(6))
    run = slicing.world.run(1)
    assert run.preempted
    assert run.yields_time_slice
    world = slicing.world
    world.exit(1, YIELDED)
    (ended,) = world.cluster.unsaved.facts
    assert isinstance(ended, Ended) and ended.ending.reason == TIME_SLICE_OVER
    assert world.trial(1).time_slice_ended_at == world.now


def test_without_a_quantum_equals_wait() -> None:
    slicing = started(plain(POOL, preemption=True), {"a": 1}, (1, 1), (2, 1))
    list(slicing.steps(100))
    assert not slicing.asked


def test_a_guarantee_is_kept_where_turns_are_taken() -> None:
    slicing = started(sliced(), {"a": 1, "b": 1}, (1, 1), (1, 1))
    slicing.world.quota(0, guaranteed=2)
    slicing.world.want(3, tenant=1, experiment=2)
    list(slicing.steps(40))
    assert slicing.world.running() == {1, 2}


TENANTS = st.integers(1, 2)
SIZES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=9)
ORDERS = st.sampled_from(["fifo", "priority", "fair_share"])
WORKERS = {"a": 4, "b": 2, "c": 1}


@settings(max_examples=40, deadline=None)
@given(
    requests=SIZES,
    order=ORDERS,
    exclusive=st.booleans(),
    preemption=st.booleans(),
    tenants=TENANTS,
    quantum_s=st.sampled_from([20, 60]),
    min_run_s=st.sampled_from([0, 90]),
)
def test_nobody_is_asked_before_its_turn_is_over_nor_for_nothing(
    requests: list[tuple[int, int]],
    order: str,
    exclusive: bool,
    preemption: bool,
    tenants: int,
    quantum_s: int,
    min_run_s: int,
) -> None:
    """Runs of equals stand a quantum at least, whatever asks; so two never loop faster. What is asked is needed: who asks could not
    have been granted otherwise, and has slots kept."""
    policy = sliced(
        quantum_s,
        order=order,
        exclusive=exclusive,
        preemption=preemption,
        min_run=timedelta(seconds=min_run_s),
    )
    slicing = started(policy, WORKERS, *requests, tenants=tenants)
    excess = sum(slots for _, slots in requests) > sum(WORKERS.values())
    for planned in slicing.steps(60):
        granted = {grant.trial for grant in planned.grants}
        assert not granted & {signal.for_trial for signal in planned.signals}
        for signal in planned.signals:
            assert signal.because == "turn"
            assert signal.for_trial is not None and planned.refusals[signal.for_trial] == "preempting"
            loser = slicing.world.cluster.runs[signal.run]
            assert slicing.world.cluster.trials[signal.for_trial].request.experiment != loser.experiment
    assert all(held_s >= max(quantum_s, min_run_s) for _, held_s in slicing.asked)
    if not excess and all(slots == 1 for _, slots in requests):
        assert not slicing.asked


@settings(max_examples=40, deadline=None)
@given(
    requests=SIZES,
    order=st.sampled_from(["fifo", "priority"]),
    exclusive=st.booleans(),
    tenants=TENANTS,
    quantum_s=st.sampled_from([20, 60]),
)
def test_each_waiting_experiment_gets_its_turn_within_the_bound(
    requests: list[tuple[int, int]], order: str, exclusive: bool, tenants: int, quantum_s: int
) -> None:
    """An experiment that holds nothing waits at most one round: (equals that hold nothing and go before it + 1) times the quantum, with two
    steps of 10 s for planning and for giving back."""
    slicing = started(
        sliced(quantum_s, order=order, exclusive=exclusive), WORKERS, *requests, tenants=tenants
    )
    world = slicing.world
    experiments = {experiment for experiment, _ in requests}
    bound_s = len(experiments) * (quantum_s + 2 * STEP_S)
    idle_since = dict.fromkeys(experiments, world.now)
    for _ in slicing.steps(round(3 * bound_s / STEP_S)):
        holding = {run.experiment.int - 100 for run in world.cluster.runs.values() if not run.is_ended}
        for experiment in experiments:
            if experiment in holding:
                idle_since[experiment] = world.now
            assert (world.now - idle_since[experiment]).total_seconds() <= bound_s, experiment


@settings(max_examples=40, deadline=None)
@given(requests=SIZES, order=ORDERS, exclusive=st.booleans(), preemption=st.booleans())
def test_equal_records_take_equal_turns(
    requests: list[tuple[int, int]], order: str, exclusive: bool, preemption: bool
) -> None:
    slicing = started(sliced(20, order=order, exclusive=exclusive, preemption=preemption), WORKERS, *requests)
    world = slicing.world
    for _ in slicing.steps(20):
        assert plan(world.rebuilt(), [POOL]) == world.plan()


@pytest.mark.parametrize("order", ["fifo", "priority", "fair_share"])
def test_two_tenants_never_change_faster_than_the_quantum(order: str) -> None:
    world = World(sliced(60, order=order, preemption=True))
    world.worker("a", 2)
    world.worker("b", 2)
    for number, tenant in enumerate((0, 1, 0, 1), start=1):
        world.want(number, 4, tenant=tenant, experiment=number, owner=f"user-{number}")
    world.cycle()
    slicing = Slicing(world)
    changes = [sum(1 for _ in planned.signals) for planned in slicing.steps(100)]
    assert world.trial(4).runs >= 1
    assert all(held_s >= 60 for _, held_s in slicing.asked)
    assert sum(changes) <= 100 * STEP_S / 60 + 1
    assert trial_id(1) in world.cluster.trials


def test_a_run_yields_only_once_it_has_saved_a_checkpoint_since_it_began() -> None:
    slicing = started(sliced(), {"a": 1}, (1, 1), (2, 1))
    slicing.unsaved = frozenset({1, 2})
    list(slicing.steps(20))
    assert not slicing.asked
    slicing.unsaved = frozenset({2})
    list(slicing.steps(1))
    assert [run.trial for run, _ in slicing.asked] == [trial_id(1)]
    list(slicing.steps(30))
    assert slicing.world.running() == {2}, "each run counts by itself: 2 has not saved yet"


def test_a_trial_that_had_to_be_killed_when_its_turn_was_over_is_not_asked_again() -> None:
    slicing = started(sliced(), {"a": 1}, (1, 1), (2, 1))
    world = slicing.world
    list(slicing.steps(6))
    assert world.run(1).yields_time_slice
    world.exit(1, RunExit(forced=True))
    world.cycle()
    assert world.running() == {2}
    list(slicing.steps(8))
    assert world.running() == {1}
    list(slicing.steps(40))
    assert world.running() == {1}
    assert world.trial(1).restarts == 0


def test_a_trial_that_was_killed_for_another_reason_goes_on_taking_turns() -> None:
    slicing = started(sliced(preemption=True), {"a": 1}, (1, 1))
    world = slicing.world
    world.want(2, experiment=2)
    world.set_policy(2, priority=10)
    world.cycle()
    assert world.run(1).preempted
    world.exit(1, RunExit(forced=True))
    assert not world.trial(1).ignores_signals
