"""One elastic trial on two workers: it grows onto a slot that comes free, and gives it back when somebody else needs it."""

import re

import pytest

from muster.client.models import ExperimentDetail, Run
from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

LONG = {"x": 1.0, "steps": 100_000, "every": 100_000, "pace_s": 0.2, "resumed_pace_s": 0.2}


@pytest.fixture
def lending(platform: Platform) -> Platform:
    """The platform as `muster up` starts it: its pool is shared fairly, in turns, and lends idle slots."""
    rules = platform.client.cluster.pool("default").rules
    assert (rules.order, rules.elastic, rules.preemption, rules.quantum_s) == ("fair_share", True, True, 600)
    return platform


def runs_of(platform: Platform, experiment: ExperimentDetail) -> list[Run]:
    return platform.client.trials.runs(f"{experiment.number}.1").all()


def runs_on(platform: Platform, experiment: ExperimentDetail, slots: int, after_runs: int = 0) -> bool:
    """Whether its newest run has so many slots, and trains."""
    latest = platform.client.trials.list(experiment.number).first(1)
    runs = runs_of(platform, experiment)
    is_running = bool(latest and latest[0].state == "running" and len(runs) > after_runs)
    return is_running and sum(member.slots for member in runs[-1].members) == slots


def step_of(platform: Platform, experiment: ExperimentDetail) -> int:
    found = platform.client.trials.list(experiment.number).first(1)
    return found[0].latest.step if found and found[0].latest else 0


def test_an_elastic_trial_grows_and_shrinks_without_losing_a_step(lending: Platform) -> None:
    platform = lending
    first = platform.create(hyperparameters=LONG)
    platform.until(lambda: runs_on(platform, first, 1))
    elastic = platform.create(hyperparameters=LONG, resources={"slots_per_trial": {"min": 1, "max": 2}})
    platform.until(lambda: runs_on(platform, elastic, 1) and step_of(platform, elastic) > 3)

    platform.client.experiments.kill(first.number)
    platform.until(lambda: runs_on(platform, elastic, 2, after_runs=1))
    assert len({member.worker for member in runs_of(platform, elastic)[-1].members}) == 2
    grown = step_of(platform, elastic)
    platform.until(lambda: step_of(platform, elastic) > grown + 3)
    (mine,) = [one for one in platform.client.cluster.queue() if one.experiment_number == elastic.number]
    assert (mine.slots, mine.min_slots, mine.max_slots) == (2, 1, 2)

    other = platform.create(hyperparameters=LONG)
    platform.until(lambda: runs_on(platform, other, 1) and runs_on(platform, elastic, 1, after_runs=2))
    shrunk = step_of(platform, elastic)
    platform.until(lambda: step_of(platform, elastic) > shrunk + 3)

    described = platform.muster("trial", "describe", f"{elastic.number}.1")
    for told in ("1 to 2", "the trial grows from 1 to 2 slots", "the trial shrinks from 2 to 1 slots"):
        assert told in " ".join(described.out.split()), described.out
    platform.client.experiments.kill(other.number)
    platform.client.experiments.cancel(elastic.number)
    assert platform.wait(elastic).state == "cancelled"
    assert all(not run.charged for run in runs_of(platform, elastic))
    lines = platform.log_of(f"{elastic.number}.1", has="stops at", times=3)
    begun = [int(found[1]) for line in lines if (found := re.match(r"begins at (\d+)", line))]
    stopped = [int(found[1]) for line in lines if (found := re.match(r"stops at (\d+)", line))]
    assert begun == [0, *stopped[:-1]]
    series = platform.client.trials.metrics(f"{elastic.number}.1", names=["loss"], max_points=5000).series[0]
    assert [point.step for point in series.points] == list(range(1, stopped[-1] + 1))


def test_a_training_that_can_be_resized_keeps_its_run_and_its_process(lending: Platform) -> None:
    platform = lending
    first = platform.create(hyperparameters=LONG)
    platform.until(lambda: runs_on(platform, first, 1))
    elastic = platform.create(
        entrypoint="python3 live.py", resources={"slots_per_trial": {"min": 1, "max": 2}}, max_restarts=0
    )
    platform.until(lambda: series_of(platform, elastic, "ranks")[-2:] == [1, 1])
    platform.client.experiments.kill(first.number)
    platform.until(lambda: series_of(platform, elastic, "ranks")[-2:] == [2, 2])
    other = platform.create(hyperparameters=LONG)
    platform.until(
        lambda: runs_on(platform, other, 1) and series_of(platform, elastic, "ranks")[-2:] == [1, 1]
    )
    assert runs_of(platform, elastic)[0].state == "granted"
    platform.client.experiments.kill(other.number)
    platform.client.experiments.kill(elastic.number)
    platform.wait(elastic)
    (run,) = runs_of(platform, elastic)
    assert not run.charged
    assert len(set(series_of(platform, elastic, "pid"))) == 1


def series_of(platform: Platform, experiment: ExperimentDetail, name: str) -> list[float]:
    """All values of a metric that a trial has reported so far."""
    found = platform.client.trials.metrics(f"{experiment.number}.1", names=[name], max_points=5000).series
    points = found[0].points if found else []
    assert [point.step for point in points] == list(range(1, len(points) + 1))
    return [point.value for point in points if point.value is not None]
