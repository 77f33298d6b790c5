"""Two trials that take half a slot each, through the whole platform: on one slot, at the same time, counted as one."""

import pytest

from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

LONG = {
    "x": {"type": "double", "minval": 0.0, "maxval": 1.0},
    "steps": 100_000,
    "every": 100_000,
    "pace_s": 0.2,
}
TWO = {"name": "random", "metric": "loss", "max_trials": 2, "max_concurrent_trials": 2}


def test_two_halves_run_on_one_slot_at_the_same_time(platform: Platform) -> None:
    halves = platform.create(TWO, hyperparameters=LONG, resources={"slots_per_trial": 0.5, "max_slots": 1})
    names = [f"{halves.number}.{number}" for number in (1, 2)]

    def step_of(name: str) -> int:
        found = platform.client.trials.get(name)
        return found.latest.step if found.state == "running" and found.latest else 0

    platform.until(lambda: all(step_of(name) > 0 for name in names))
    before = [step_of(name) for name in names]
    platform.until(lambda: all(step_of(name) > then for name, then in zip(names, before, strict=True)))
    members = [run.members[0] for name in names for run in platform.client.trials.runs(name).all()]
    assert [(member.slots, member.slot_fraction) for member in members] == [(1, 0.5), (1, 0.5)]
    (worker,) = {member.worker for member in members}
    used = {one.id: one.used_slots for one in platform.client.cluster.workers()}
    assert used[worker] == 1
    queued = [one for one in platform.client.cluster.queue() if one.experiment_number == halves.number]
    assert [(one.state, one.slots, one.slot_fraction) for one in queued] == [("running", 1, 0.5)] * 2
    told = platform.muster("queue", "explain", names[0])
    assert "0.5 slots" in told.out, told.out
    platform.client.experiments.kill(halves.number)
    platform.wait(halves)
