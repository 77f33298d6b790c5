"""Idle slots are lent to elastic runs, and come back without anybody else losing his."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.submission_warnings import lending_warnings
from services.scheduler.core.planning.max_capacity import ReachableSlots
from services.scheduler.core.planning.plan import plan
from services.scheduler.core.reducers.budgets import on_spending
from services.scheduler.core.reducers.elastic_reports import on_reported
from services.scheduler.core.state.indexes.elastic.goodput import BatchLimits, GradientNoise
from services.scheduler.core.state.indexes.elastic.throughput import Timing
from services.scheduler.core.state.published_events import Ended
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.messages.trial_specs import DesiredState, Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id, trial_id

LIMITS = BatchLimits(first_batch=128, last_batch=8192, least_per_slot=16, most_per_slot=512)
SCALES, STUCK = 0.01, 5.0
"""Seconds that synchronising takes."""


class Lender(World):
    """A pool that lends, with machines of four slots."""

    def __init__(self, machines: int = 2, **policy: object) -> None:
        super().__init__(plain(POOL, elastic=True, **policy))
        for number in range(machines):
            self.worker(f"w{number}", 4)

    def want_elastic(self, number: int, least: int = 1, most: int = 8, experiment: int | None = None) -> None:
        self.want(
            number, needs=SlotNeeds(least, most), experiment=number if experiment is None else experiment
        )

    def report(self, number: int, sync_s: float = SCALES) -> None:
        """What a run measures with the slots that it has."""
        run = self.run(number)
        machines, slots = len(run.shares), int(run.slots)
        timing = Timing(machines, slots, 128, 0.2 + (sync_s if slots > 1 else 0), 0.2)
        self.cluster.apply(
            on_reported(self.cluster, trial_id(number), LIMITS, timing, GradientNoise(1.0, 50.0))
        )

    def settle(self, sync_s: float = SCALES) -> None:
        """Turns, until nothing is resized any more: who is asked to go on with other slots saves and goes."""
        for _ in range(30):
            self.cycle()
            asked = [number for number in self.running() if self.run(number).preempted]
            for number in asked:
                self.exit(number, RunExit(acknowledged=Signal.PREEMPT, step=1))
            if not asked and not self.cycle():
                return
            for number in self.running():
                self.report(number, sync_s)
        pytest.fail("it resizes for ever")

    def train(self, minutes: int = 60, sync_s: float = SCALES) -> None:
        """Time passes, and what was learnt is used, step by step."""
        for _ in range(6):
            self.settle(sync_s)
            self.wait(minutes * 10)
            for number in self.running():
                self.report(number, sync_s)
            self.cluster.unsaved.pools[POOL] = None
        self.settle(sync_s)

    def slots(self, number: int) -> int:
        return int(self.run(number).slots) if number in self.running() else 0


def test_idle_slots_are_lent_step_by_step_to_a_run_that_scales() -> None:
    world = Lender()
    world.want_elastic(1)
    world.settle()
    assert world.slots(1) == 2
    world.train()
    assert world.slots(1) == 8


def test_a_run_that_does_not_scale_stays_small() -> None:
    world = Lender()
    world.want_elastic(1)
    world.train(sync_s=STUCK)
    assert world.slots(1) <= 2


def test_a_pool_that_does_not_lend_grants_as_much_as_fits() -> None:
    world = World()
    world.worker("w0", 4)
    world.want(1, needs=SlotNeeds(1, 4))
    world.cycle()
    assert world.run(1).slots == 4


def test_lent_slots_come_back_for_a_request_and_nobody_is_preempted() -> None:
    world = Lender()
    world.want_elastic(1)
    world.train()
    world.want(2, 4, experiment=2)
    plan = world.plan()
    assert plan.signals == ()
    assert [resize.run for resize in plan.resizes] == [world.run(1).id]
    assert plan.refusals[trial_id(2)] == "preempting"
    world.settle()
    assert world.slots(2) == 4
    assert 1 <= world.slots(1) <= 4


def test_the_minimum_is_nobody_elses() -> None:
    world = Lender()
    world.want_elastic(1, least=2)
    world.train()
    world.want(2, 7, experiment=2)
    world.settle()
    assert world.slots(2) == 0
    assert world.slots(1) >= 2


def test_two_that_are_alike_share() -> None:
    world = Lender(machines=4)
    world.want_elastic(1, most=16)
    world.want_elastic(2, most=16)
    world.train()
    assert world.slots(1) == world.slots(2) == 8


def test_an_experiments_max_slots_holds_for_lent_ones() -> None:
    world = Lender()
    world.set_policy(1, max_slots=4)
    world.want_elastic(1)
    world.train()
    assert world.slots(1) == 4


def test_who_has_spent_a_months_budget_keeps_what_is_lent_and_is_lent_nothing_more() -> None:
    world = Lender(price_per_slot_hour=1.0)
    world.want_elastic(1)
    world.settle()
    world.cluster.apply(on_spending(world.cluster, {(tenant_id(0),): BudgetSpending(1.0, 1.0)}))
    world.train()
    assert world.slots(1) == 2


def test_a_tenants_maximum_holds_for_all_that_is_lent_to_it() -> None:
    world = Lender(machines=4)
    world.quota(0, maximum=9)
    for number in (1, 2):
        world.want_elastic(number)
    world.train()
    assert world.slots(1) == world.slots(2) == 4


def test_a_resize_is_no_preemption_and_keeps_the_place_in_the_queue() -> None:
    world = Lender()
    world.want_elastic(1)
    world.train()
    trial = world.trial(1)
    assert trial.runs > 1
    assert trial.preemptions == 0
    assert trial.submission_order == 1


def test_the_end_of_a_resized_run_says_so_and_charges_nothing() -> None:
    world = Lender()
    world.want_elastic(1)
    world.cycle()
    world.wait(600)
    world.cycle()
    world.exit(1, RunExit(acknowledged=Signal.PREEMPT, step=1))
    (ended,) = [fact for fact in world.cluster.unsaved.facts if isinstance(fact, Ended)]
    assert (ended.ending.outcome, ended.ending.charged) == ("preempted", False)
    assert ended.ending.reason == "the trial grows from 2 to 8 slots; not counted against max_restarts"
    assert world.trial(1).restarts == 0


@pytest.mark.parametrize(
    ("policy", "needs", "slots", "says"),
    [
        (plain(POOL, elastic=True), SlotNeeds(2, 8), 8, []),
        (plain(POOL), SlotNeeds(4, 4), 8, []),
        (plain(POOL), SlotNeeds(2, 8), 8, ["gives no idle slots to elastic trials: a trial starts with 8"]),
        (
            plain(POOL, elastic=True),
            SlotNeeds(2, 8),
            4,
            ["up to 8 slots; pool default can have at most 4 in total"],
        ),
    ],
)
def test_who_submits_is_told_what_an_elastic_trial_will_not_get(
    policy: PoolPolicy, needs: SlotNeeds, slots: int, says: list[str]
) -> None:
    told = lending_warnings(policy, needs, ReachableSlots(slots, "in total", is_final=True))
    assert len(told) == len(says)
    assert all(part in warning for part, warning in zip(says, told, strict=True))


def test_who_never_reports_gets_idle_slots_after_a_while() -> None:
    world = Lender()
    world.want_elastic(1)
    world.cycle()
    world.wait(600)
    world.cycle()
    assert world.run(1).preempted
    world.exit(1, RunExit(acknowledged=Signal.PREEMPT, step=1))
    world.cycle()
    assert world.slots(1) == 8


def test_a_run_that_has_just_begun_keeps_what_it_has() -> None:
    world = Lender()
    world.want_elastic(1)
    world.cycle()
    world.wait(30)
    world.cycle()
    assert not world.run(1).preempted


def test_lending_begins_and_ends_with_the_pools_policy() -> None:
    world = Lender(preemption=True)
    lending, plain = world.policy, replace(world.policy, elastic=False)
    world.cluster.put_pool(plain)
    world.want_elastic(1)
    world.settle()
    assert world.slots(1) == 8
    world.want(2, 4, experiment=2)
    world.settle()
    assert world.slots(2) == 0
    world.cluster.put_pool(lending)
    world.wait(60)
    world.settle()
    assert world.slots(2) == 4
    assert world.slots(1) >= 1


@pytest.mark.parametrize("sync_s", [SCALES, STUCK])
def test_a_new_leader_lends_as_the_old_one_would(sync_s: float) -> None:
    world = Lender(machines=4)
    for number in (1, 2, 3):
        world.want_elastic(number, most=8)
    world.train(sync_s=sync_s)
    assert plan(world.rebuilt(), [POOL]) == world.plan()
    world.want(4, 12, experiment=4)
    world.cycle()
    asked = [number for number in (1, 2, 3) if world.run(number).preempted]
    assert plan(world.rebuilt(), [POOL]) == world.plan()
    for number in asked:
        world.exit(number, RunExit(acknowledged=Signal.PREEMPT, step=1))
        assert plan(world.rebuilt(), [POOL]) == world.plan()
    assert asked or sync_s == STUCK


def test_the_more_important_does_not_wait_for_slots_that_are_still_being_left() -> None:
    world = Lender(machines=0)
    world.worker("w0", 1)
    world.worker("w1", 3)
    world.want(9, experiment=9)
    world.cycle()
    world.want(9, experiment=9, desired_state=DesiredState.STOP, version=2)
    world.set_policy(1, priority=10)
    world.set_policy(2, priority=42)
    world.want_elastic(1, most=2)
    world.want_elastic(2, most=2)
    assert world.plan().refusals == {}, "there is room for both beside the one that is leaving"
    world.cycle()
    assert world.placement(1) == world.placement(2) == {"w1": 1}


def test_one_that_comes_back_from_a_resize_waits_for_what_it_was_promised() -> None:
    world = Lender()
    world.want(2, 4, experiment=2)
    world.want_elastic(1)
    world.train()
    assert world.slots(1) == 4
    world.want(2, 4, experiment=2, desired_state=DesiredState.STOP, version=2)
    world.wait(60)
    world.cycle()
    asked = world.run(1).asked
    assert asked is not None and asked.slots == 8
    world.exit(1, RunExit(acknowledged=Signal.PREEMPT, step=1))
    world.cycle()
    assert world.slots(1) == 0, "with four it would have to be resized again"
    world.exit(2, RunExit(acknowledged=Signal.STOP, step=1))
    world.cycle()
    assert world.slots(1) == 8


asks = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8), st.booleans()), min_size=1, max_size=8)


@settings(deadline=None)
@given(asks, st.integers(1, 3))
def test_it_comes_to_rest_with_every_minimum_and_no_machine_overfull(
    asked: list[tuple[int, int, bool]], machines: int
) -> None:
    world = Lender(machines)
    for number, (least, more, is_late) in enumerate(asked):
        world.want_elastic(number, least, least + more)
        if is_late:
            world.now += timedelta(minutes=10)
            world.cluster.advance_to(world.now)
            world.settle()
    world.settle()
    assert world.plan() == world.plan()
    for number, (least, more, _) in enumerate(asked):
        assert world.slots(number) == 0 or least <= world.slots(number) <= least + more
    used = dict.fromkeys(range(machines), 0)
    for number in world.running():
        for name, slots in world.placement(number).items():
            used[int(name[1:])] += slots
    assert all(slots <= 4 for slots in used.values())


def test_a_trial_that_had_to_be_killed_to_be_resized_keeps_the_size_that_it_has_then() -> None:
    world = Lender(machines=1)
    world.want_elastic(1, most=4)
    world.train()
    assert world.slots(1) == 4
    world.want(2, 2, experiment=2)
    world.cycle()
    asked = world.run(1).asked
    assert asked and asked.because == "resize"
    world.exit(1, RunExit(forced=True, step=1))
    world.cycle()
    assert (world.slots(1), world.slots(2)) == (2, 2)
    assert world.trial(1).restarts == 0
    world.exit(2)
    world.train()
    assert world.slots(1) == 2, "it would be killed to grow"
    world.want(3, 2, experiment=3)
    world.cycle()
    world.want(4, 1, experiment=4)
    world.cycle()
    assert not world.run(1).preempted, "it would be killed to shrink"
    assert plan(world.rebuilt(), [POOL]) == world.plan()
