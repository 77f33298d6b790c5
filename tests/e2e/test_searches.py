"""Experiments from beginning to end, through every service."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from muster.errors import Rejected
from tests.e2e.platform import ROOT, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SPACE = {"x": {"type": "double", "minval": 0, "maxval": 1}, "steps": 9, "pace_s": 0.02}
ASHA: dict[str, object] = {
    "name": "adaptive_asha", "metric": "loss", "max_trials": 8, "max_concurrent_trials": 2, "time_metric": "epochs",
    "max_time": 9, "divisor": 3,
}  # fmt: skip


def test_a_search_makes_exactly_its_trials_and_stores_each_value_once(platform: Platform) -> None:
    made = platform.create(ASHA, hyperparameters=SPACE)
    ended = platform.completed(made)
    assert (ended.trials.error, ended.trials.completed + ended.trials.stopped) == (0, 8)
    trials = platform.client.trials.list(made.number).all()
    assert sorted(trial.number for trial in trials) == list(range(1, 9))
    best = min(trial.best.value for trial in trials if trial.best and trial.best.value is not None)
    assert ended.best is not None and ended.best.value == pytest.approx(best)
    for trial in trials:
        series = {(one.group, one.name): one for one in platform.client.trials.metrics(trial.id).series}
        losses = series["validation", "loss"]
        steps = [point.step for point in losses.points]
        assert steps == list(range(1, len(steps) + 1)) and losses.count == len(steps)
        assert trial.state == "stopped" or len(steps) == 9
        x = trial.hyperparameters["x"]
        assert isinstance(x, float) and losses.points[0].value == pytest.approx(x + 1)


def test_trials_pause_at_their_rungs_and_the_best_go_on(platform: Platform) -> None:
    """Promotion, with points that TPE proposes: no step is trained twice, and what waited in vain ends as stopped."""
    made = platform.create(
        ASHA
        | {"name": "async_halving", "num_rungs": 2, "stop_once": False, "sampler": "tpe", "max_trials": 6},
        hyperparameters=SPACE,
    )
    ended = platform.completed(made)
    assert (ended.trials.error, ended.trials.completed + ended.trials.stopped) == (0, 6)
    trials = platform.client.trials.list(made.number).all()
    for trial in trials:
        series = {(one.group, one.name): one for one in platform.client.trials.metrics(trial.id).series}
        steps = [point.step for point in series["validation", "loss"].points]
        assert steps == list(range(1, len(steps) + 1)), "a paused trial goes on where it was"
    resumed = [trial for trial in trials if trial.state == "completed"]
    assert resumed, "at least one of six is among the best third"


def test_a_population_of_digits_goes_on_from_what_its_best_have_learned(platform: Platform) -> None:
    """Each copy trains on from the epoch of the checkpoint that it was given, with hyperparameters of its own."""
    config = ROOT / "examples/digits/pbt.yaml"
    created = platform.muster("experiment", "create", str(config), "--json")
    assert created.code == 0, created.err
    number = str(created.json()["number"])
    ended = platform.completed(platform.client.experiments.get(number))
    trials = {trial.number: trial for trial in platform.client.trials.list(number)}
    copies = [trial for trial in trials.values() if trial.source is not None]
    assert copies and len(trials) == 4 + len(copies) == ended.trials.planned
    for trial in copies:
        source = trials[trial.source or 0]
        assert trial.start_checkpoint is not None
        start = platform.client.checkpoints.get(trial.start_checkpoint)
        epochs = platform.client.trials.metrics(trial.id, names=["epochs"]).series[0].points
        steps_of_epoch = 1197 // 64
        assert (start.trial, start.step % steps_of_epoch) == (source.id, 0)
        assert epochs[0].value == start.step / steps_of_epoch + 1
        assert trial.hyperparameters["width"] == source.hyperparameters["width"]
        assert trial.hyperparameters["lr"] != source.hyperparameters["lr"]
    shown = platform.muster("trial", "describe", f"{number}.{copies[0].number}")
    assert f"{number}.{copies[0].source}" in shown.out


def test_random_and_grid_make_what_they_say(platform: Platform) -> None:
    random = platform.create(
        {"name": "random", "metric": "loss", "max_trials": 3}, hyperparameters=SPACE | {"steps": 2}
    )
    grid = platform.create(
        {"name": "grid", "metric": "loss"},
        hyperparameters={
            "x": {"type": "double", "minval": 0, "maxval": 1, "count": 3},
            "steps": 2,
            "pace_s": 0.02,
        },
    )
    assert platform.completed(random).trials.completed == 3
    assert platform.completed(grid).trials.completed == 3
    points = [trial.hyperparameters["x"] for trial in platform.client.trials.list(grid.number)]
    assert sorted(float(str(point)) for point in points) == [0.0, 0.5, 1.0]


def test_what_a_script_calls_invalid_is_replaced_and_not_counted(platform: Platform) -> None:
    made = platform.create(
        {"name": "random", "metric": "loss", "max_trials": 4, "max_concurrent_trials": 2},
        hyperparameters=SPACE | {"steps": 1, "valid_to": 0.5},
        reproducibility={"experiment_seed": 4},
    )
    ended = platform.completed(made)
    assert (ended.trials.completed, ended.trials.error, ended.trials.planned) == (4, 0, 4)
    trials = platform.client.trials.list(made.number).all()
    invalid = [trial for trial in trials if trial.invalid]
    assert 0 < len(invalid) == ended.trials.invalid == len(trials) - 4
    for trial in trials:
        x = trial.hyperparameters["x"]
        assert isinstance(x, float) and (x > 0.5) == trial.invalid
        assert not trial.invalid or (trial.state, trial.runs) == ("error", 1)
        assert not trial.invalid or "more than 0.5" in (trial.reason or "")
    shown = platform.muster("trial", "list", str(made.number))
    assert shown.out.count("invalid") == len(invalid)


def test_two_ranks_train_on_two_workers_and_leave_a_model(platform: Platform, tmp_path: Path) -> None:
    config = ROOT / "examples/digits/best.yaml"
    created = platform.muster(
        "experiment", "create", str(config), "--config", "hyperparameters.epochs=2", "--json"
    )
    assert created.code == 0, created.err
    number = str(created.json()["number"])
    platform.completed(platform.client.experiments.get(number))
    runs = platform.client.trials.runs(f"{number}.1").all()
    assert len(runs) == 1 and len({member.worker for member in runs[0].members}) == 2
    platform.client.models.create("digits-e2e")
    registered = platform.muster("model", "register", "digits-e2e", "--experiment", number, "--json")
    assert registered.code == 0 and registered.json()["number"] == 1
    target = tmp_path / "model"
    downloaded = platform.muster("model", "download", "digits-e2e@1", str(target))
    assert downloaded.code == 0 and (target / "state.pt").stat().st_size > 1000
    evaluated = subprocess.run(
        [sys.executable, "evaluate.py", str(target)],
        cwd=ROOT / "examples/digits",
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(evaluated.stdout.split()[1]) > 0.5
    again = platform.muster("model", "download", "digits-e2e", str(target))
    assert again.code == 3 and "not an empty directory" in again.err


def test_a_crash_is_resumed_from_the_newest_checkpoint_without_a_doubled_value(platform: Platform) -> None:
    made = platform.create(hyperparameters={"x": 1.0, "steps": 8, "crash_at": 5}, max_restarts=2)
    platform.completed(made)
    runs = platform.client.trials.runs(f"{made.number}.1").all()
    assert [run.number for run in runs] == [1, 2] and runs[0].exit_code == 3 and runs[0].charged
    series = platform.client.trials.metrics(f"{made.number}.1", names=["loss"]).series
    assert [point.step for point in series[0].points] == list(range(1, 9))
    texts = platform.log_of(f"{made.number}.1", has="begins at", times=2)
    assert "begins at 0 with x 1.0" in texts and "begins at 4 with x 1.0" in texts


def test_a_gang_over_two_workers_that_hangs_goes_on_from_its_newest_checkpoint(platform: Platform) -> None:
    made = platform.create(
        hyperparameters={"x": 1.0, "steps": 8, "hang_at": 5},
        resources={"slots_per_trial": 2},
        hang_timeout=5,
        max_restarts=1,
    )
    platform.completed(made)
    trial = f"{made.number}.1"
    hung, second = platform.client.trials.runs(trial).all()
    assert len({member.worker for member in hung.members}) == 2
    assert hung.charged and "the trial hangs" in (hung.reason or "")
    assert second.outcome == "completed"
    assert platform.log_of(trial, has="train.py"), "where it stood"
    assert "begins at 4 with x 1.0" in platform.log_of(trial, has="begins at", times=2)
    series = platform.client.trials.metrics(trial, names=["loss"]).series
    assert [point.step for point in series[0].points] == list(range(1, 9))


def test_restarts_come_to_an_end_and_say_why(platform: Platform) -> None:
    made = platform.create(
        hyperparameters={"x": 1.0, "steps": 8, "crash_at": 1, "always_crash": True}, max_restarts=1
    )
    ended = platform.wait(made)
    trial = platform.client.trials.get(f"{made.number}.1")
    assert (ended.state, trial.state, trial.runs) == ("error", "error", 2)
    assert ended.reason and trial.reason and "3" in trial.reason


def test_a_metric_that_is_never_reported_is_named(platform: Platform) -> None:
    made = platform.create({"name": "single", "metric": "accuracy"}, hyperparameters={"x": 1.0, "steps": 2})
    ended = platform.wait(made)
    told = f"{ended.reason} {platform.client.trials.get(f'{made.number}.1').reason}"
    assert "accuracy" in told


def test_a_script_that_is_not_there_is_refused_or_an_error_with_its_log(platform: Platform) -> None:
    with pytest.raises(Rejected, match=r"runs nowhere\.py, but the code does not contain it"):
        platform.create(entrypoint="python3 nowhere.py", max_restarts=0)
    made = platform.create(entrypoint="true && python3 nowhere.py", max_restarts=0)
    ended = platform.wait(made)
    assert ended.state == "error" and ended.reason
    assert platform.log_of(f"{made.number}.1", has="nowhere.py")


def test_following_a_log_ends_with_the_experiment_and_its_lines_are_found(platform: Platform) -> None:
    made = platform.create(hyperparameters={"x": 2.718281, "steps": 4, "pace_s": 0.2})
    texts = [line.text for line in platform.client.experiments.follow_logs(made.number)]
    assert texts.count("begins at 0 with x 2.718281") == 1
    assert platform.client.experiments.get(made.number).final
    for wanted in (["0 with x 2.718281"], ["--match", r"x 2\.7\d{5}$", "--since", "1h", "--rank", "0"]):
        shown = platform.muster("search", *wanted, "--json")
        found = [json.loads(line) for line in shown.out.splitlines()]
        assert [(line["experiment_number"], line["trial_number"]) for line in found] == [(made.number, 1)]
    trial = f"{made.number}.1"
    read = platform.muster("trial", "logs", trial, "--contains", "2.718281", "--since", "1h")
    assert read.out.count("begins at 0") == 1
    earlier = platform.muster("trial", "logs", trial, "--until", "1h")
    assert (earlier.code, earlier.out) == (0, "") and "no such lines" in earlier.err
    exploding = platform.muster("search", "--match", "(x{50}){50}y")
    assert exploding.code == 3 and "pattern" in exploding.err and "use * or +" in exploding.err


def test_a_fork_trains_the_best_point_once(platform: Platform) -> None:
    made = platform.create(
        {"name": "random", "metric": "loss", "max_trials": 2}, hyperparameters=SPACE | {"steps": 1}
    )
    ended = platform.wait(made)
    forked = platform.muster(
        "experiment", "fork", str(made.number), "--best", "--name", "again", "--wait", "--json"
    )
    assert forked.code == 0, forked.err
    detail = platform.client.experiments.get(str(forked.json()["number"]))
    assert (detail.name, detail.searcher, detail.forked_from) == ("again", "single", made.id)
    assert ended.best and detail.best and detail.best.value == pytest.approx(ended.best.value)


def test_a_trace_joins_the_services_and_shows_the_phases_of_a_run(platform: Platform) -> None:
    phases = ("wait in queue", "fetch code", "start trial", "make first step", "upload checkpoint")
    made = platform.create(hyperparameters={"x": 1.0, "steps": 1})
    platform.wait(made)

    def are_joined() -> bool:
        """Each service writes its spans a moment after they ended."""
        shown = platform.muster("trace", str(made.number), "--json")
        parts = ("gateway", "searcher", "scheduler", "registry", *phases)
        return all(f'"{part}"' in shown.out for part in parts)

    platform.until(are_joined)
