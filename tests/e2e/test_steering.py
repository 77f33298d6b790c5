"""Pause, resume, cancel and kill, as a person asks for them."""

from typing import Any

import pytest

from muster.client.models import ExperimentDetail
from tests.e2e.platform import TIMEOUT_S, Platform
from tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


LONG = {"x": 1.0, "steps": 400, "every": 100, "pace_s": 0.1, "resumed_pace_s": 0.005}
"""Forty seconds at first, and quick after a resume."""


async def begun(platform: Platform) -> ExperimentDetail:
    """A training that has validated at least twice."""
    made = platform.create(hyperparameters=LONG)

    def has_validated_twice() -> bool:
        latest = platform.client.trials.list(made.number).first(1)
        return bool(latest and latest[0].latest and latest[0].latest.step >= 2)

    await eventually(has_validated_twice, TIMEOUT_S, every_s=0.2)
    return made


async def test_a_pause_gives_the_slots_back_and_a_resume_goes_on_where_it_was(platform: Platform) -> None:
    made = await begun(platform)
    number = str(made.number)
    paused = platform.muster("experiment", "pause", number)
    assert paused.code == 0, paused.err

    def is_parked() -> bool:
        return platform.client.trials.get(f"{number}.1").state == "parked"

    await eventually(is_parked, TIMEOUT_S, every_s=0.2)
    assert platform.client.experiments.get(number).state == "paused"
    assert all(str(entry.experiment_number) != number for entry in platform.client.cluster.queue())
    assert platform.muster("experiment", "resume", number).code == 0
    platform.completed(made)
    series = platform.client.trials.metrics(f"{number}.1", names=["loss"], max_points=5000).series[0]
    assert [point.step for point in series.points] == list(range(1, 401))
    lines = platform.log_of(f"{number}.1", has="begins at", times=2)
    begins = [line for line in lines if line.startswith("begins at")]
    assert begins[0] == "begins at 0 with x 1.0" and len(begins) == 2 and begins[1] != begins[0]


async def test_cancel_lets_the_trial_end_by_itself(platform: Platform) -> None:
    made = await begun(platform)
    assert platform.muster("experiment", "cancel", str(made.number)).code == 0
    ended = platform.wait(made)
    trial = platform.client.trials.get(f"{made.number}.1")
    assert (ended.state, trial.state) == ("cancelled", "cancelled")
    assert platform.log_of(trial.id, has="stops at")
    assert platform.client.checkpoints.of_trial(trial.id).first(1)[0].state == "saved"
    waited = platform.muster("experiment", "wait", str(made.number))
    assert waited.code == 1


async def test_kill_does_not_wait(platform: Platform) -> None:
    made = await begun(platform)
    assert platform.muster("experiment", "kill", str(made.number)).code == 0
    assert platform.wait(made).state == "cancelled"


async def test_killed_trials_end_and_their_search_goes_on_until_none_is_left(platform: Platform) -> None:
    space = LONG | {"x": {"type": "double", "minval": 0.5, "maxval": 1.5}}
    search: dict[str, object] = {"name": "random", "metric": "loss", "max_trials": 3}
    made = platform.create(search, hyperparameters=space)

    def is_running() -> bool:
        found = platform.client.trials.list(made.number).first(1)
        return bool(found and found[0].state == "running")

    await eventually(is_running, TIMEOUT_S, every_s=0.2)
    for number in (3, 1):
        name = f"{made.number}.{number}"
        assert platform.muster("trial", "kill", name).code == 0
        assert platform.client.experiments.get(made.number).state == "active"

        def is_cancelled(name: str = name) -> bool:
            trial = platform.client.trials.get(name)
            return (trial.state, trial.reason) == ("cancelled", "killed by a user")

        await eventually(is_cancelled, TIMEOUT_S, every_s=0.2)
    again = platform.muster("trial", "kill", f"{made.number}.1")
    assert again.code == 0, again.err
    assert platform.muster("trial", "kill", f"{made.number}.2").code == 0
    assert platform.wait(made).state == "cancelled"


async def test_a_paused_experiment_can_be_cancelled(platform: Platform) -> None:
    made = await begun(platform)
    platform.client.experiments.pause(made.number)
    platform.client.experiments.cancel(made.number)
    assert platform.wait(made).state == "cancelled"


async def test_what_has_ended_cannot_be_steered(platform: Platform) -> None:
    made = platform.create(hyperparameters={"x": 1.0, "steps": 1})
    platform.wait(made)
    for verb in ("pause", "resume"):
        refused = platform.muster("experiment", verb, str(made.number))
        assert refused.code in (3, 5) and "completed" in refused.err, verb


async def test_who_waits_is_told_why(platform: Platform) -> None:
    running = [await begun(platform), await begun(platform)]
    waiting = platform.create(hyperparameters={"x": 1.0, "steps": 1})

    def is_explained() -> bool:
        explained = platform.muster("trial", "explain", f"{waiting.number}.1", "--json")
        return explained.code == 0 and explained.json()["state"] == "waiting"

    await eventually(is_explained, TIMEOUT_S, every_s=0.2)
    told: Any = platform.muster("queue", "explain", f"{waiting.number}.1", "--json").json()
    assert {one["experiment_number"] for one in told["holders"]} == {made.number for made in running}
    assert (told["position"], told["other_runs"]) == (1, 0)
    explained = platform.muster("queue", "explain", f"{waiting.number}.1")
    assert "slot" in explained.out and f"{running[0].number}.1 (1 slot" in explained.out
    queue = platform.client.cluster.queue().all()
    mine = next(entry for entry in queue if entry.experiment_number == waiting.number)
    assert (mine.state, bool(mine.reason)) == ("waiting", True)
    for made in [*running, waiting]:
        platform.client.experiments.kill(made.number)
        assert platform.wait(made).final
