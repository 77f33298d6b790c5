"""What is concluded from step times alone, and that it reaches the plan by heartbeats."""

from dataclasses import replace

import pytest

from services.scheduler.core.state.indexes.elastic.step_times import StepTimes
from services.scheduler.core.state.observed import StepMeasurement
from services.scheduler.core.state.records.run import RunExit
from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from tests.unit.scheduler.elastic.test_extra_slots import Lender
from tests.unit.scheduler.world import POOL

SIZES = (1, 2, 4, 8)


def learnt(**step_s: float) -> StepTimes:
    paces = StepTimes()
    for slots, seconds in step_s.items():
        paces.add(int(slots.removeprefix("on_")), seconds)
    return paces


def test_what_was_not_tried_is_taken_to_be_good() -> None:
    assert list(learnt().speedups(SIZES, 4)) == [1, 2, 4, 8]
    assert list(learnt(on_2=0.5).speedups(SIZES, 4)) == [1, 2, 4, 8]


def test_what_was_tried_is_known_and_beyond_it_amdahls_law_holds() -> None:
    half = learnt(on_1=1.0, on_2=0.75).speedups(SIZES, 4)
    assert half == pytest.approx([1, 1 / 0.75, 1 / 0.625, 1 / 0.5625])


def test_growth_is_step_by_step() -> None:
    assert (learnt().most_slots, learnt(on_1=1.0).most_slots, learnt(on_4=1.0).most_slots) == (2, 2, 8)


class Observing(Lender):
    """Heartbeats carry how long a step takes."""

    def train_on(self, step_s: dict[int, float]) -> None:
        """Time passes: steps take so long by number of slots, runs save and go where they are asked to."""
        for _ in range(60):
            for number in self.running():
                run = self.run(number)
                if run.preempted:
                    self.exit(number, RunExit(acknowledged=Signal.PREEMPT, step=1))
                    continue
                for share in run.shares:
                    told = [
                        replace(one, measured=StepMeasurement(step_s=step_s[int(run.slots)]))
                        if one.run == run.id
                        else one
                        for one in self.observed(share.worker)
                    ]
                    self.worker(share.worker, 4, allocations=tuple(told))
            self.wait(60)
            self.cluster.unsaved.pools[POOL] = None
            self.cycle()


def test_heartbeats_teach_how_far_a_run_scales() -> None:
    world = Observing()
    world.want_elastic(1)
    world.train_on({1: 1.0, 2: 0.5, 4: 0.27, 8: 0.15})
    assert world.slots(1) == 8


def test_who_is_slower_with_more_gives_them_back_and_keeps_to_it() -> None:
    world = Observing()
    world.want_elastic(1)
    stuck = {1: 1.0, 2: 0.5, 4: 0.9, 8: 0.9}
    world.train_on(stuck)
    assert world.trial(1).runs > 1
    assert world.slots(1) == 2
    runs = world.trial(1).runs
    world.train_on(stuck)
    assert world.trial(1).runs == runs


def test_only_the_chief_is_believed() -> None:
    world = Observing()
    world.want_elastic(1)
    world.train_on({1: 1.0, 2: 0.5, 4: 0.27, 8: 0.15})
    run = world.run(1)
    history = world.cluster.pools[POOL].elastic.of[run.trial].history
    assert history is not None
    before = list(history.speedups(SIZES, 4))
    other = next(share.worker for share in run.shares if share.worker != run.chief)
    told = tuple(
        replace(one, measured=StepMeasurement(step_s=99.0)) for one in world.observed(WorkerId(other))
    )
    world.worker(other, 4, allocations=told)
    assert list(history.speedups(SIZES, 4)) == before
