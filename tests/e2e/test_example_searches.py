"""The examples of every family of searches, all at once on one platform."""

import subprocess
import sys
from collections import defaultdict
from typing import Any

import pytest

from muster.client.models import ExperimentDetail, Trial
from tests.e2e.platform import ROOT, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXAMPLES = ROOT / "examples/searches"
FAMILIES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
MADE = {
    "grid": 12,
    "halving": 16,
    "promotion": 12,
    "hyperband": 17,
    "median": 12,
    "model": 16,
    "objectives": 16,
    "warm": 6,
}
"""How many trials those have whose number is known."""
UNHURRIED = {"budget": ("budget.deadline=30s", "resources.priority=10")}
"""Its deadline runs from the submission, and all families share the slots: it goes first among them."""


def test_every_family_is_shown_and_ends_as_its_page_says(platform: Platform) -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert [name for name in FAMILIES if f"`{name}.yaml`" not in page] == []
    made = {name: created(platform, name) for name in FAMILIES}
    ended = {name: platform.completed(experiment) for name, experiment in made.items()}
    trials = {name: platform.client.trials.list(one.number).all() for name, one in ended.items()}

    assert {name: len(trials[name]) for name in MADE} == MADE
    assert all(one.best is not None for one in ended.values())
    epochs = {name: [trial.latest.step for trial in found if trial.latest] for name, found in trials.items()}
    assert 1 in epochs["halving"] and 9 in epochs["halving"], (
        "some are stopped at their first rung, some train on"
    )
    assert 1 in epochs["hyperband"] and 9 in epochs["hyperband"]
    assert max(each.runs for each in trials["promotion"]) > 1
    assert "stopped" in {each.state for each in trials["median"]}
    assert {each.hyperparameters["width"] for each in trials["grid"]} == {32, 64}
    assert trials["warm"][0].hyperparameters == {"epochs": 9, "lr": 0.01, "optimizer": "adam", "width": 64}
    check_copies(trials["population"])
    check_budget(ended["budget"])
    check_trials_are_shown_and_fetched(platform, ended["grid"])
    front = platform.client.experiments.front(ended["objectives"].number).all()
    assert front and all(each.metrics["latency_ms"] <= 40 for each in front)


def created(platform: Platform, name: str) -> ExperimentDetail:
    overrides = [word for each in UNHURRIED.get(name, ()) for word in ("--config", each)]
    made = platform.muster("experiment", "create", str(EXAMPLES / f"{name}.yaml"), *overrides, "--json")
    assert made.code == 0, made.err
    return platform.client.experiments.get(str(made.json()["number"]))


def check_copies(trials: list[Trial]) -> None:
    """Each starts from the checkpoint of the trial that it copies, and keeps what is to be kept."""
    copies = [trial for trial in trials if trial.source is not None]
    assert copies
    points: dict[int, dict[str, Any]] = {trial.number: trial.hyperparameters for trial in trials}
    assert all(points[copy.number]["width"] == points[copy.source or 0]["width"] for copy in copies)
    assert all(copy.start_checkpoint is not None for copy in copies)


def check_trials_are_shown_and_fetched(platform: Platform, grid: ExperimentDetail) -> None:
    """The registry's example, as its first line says."""
    told = subprocess.run(
        [sys.executable, str(ROOT / "examples/registry/trials.py"), str(grid.number)],
        env=platform.environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    by_word: dict[str, list[str]] = defaultdict(list)
    for line in told.stdout.splitlines():
        word, _, rest = line.partition(": ")
        by_word[word].append(rest)
    assert "hparams.lr" in by_word["names"][0]
    assert (len(by_word["best"]), len(by_word["finished"])) == (3, MADE["grid"])
    [fetched] = by_word["fetched"]
    points = int(fetched.split()[0])
    assert fetched.endswith(f"{MADE['grid']} trials") and by_word["joined"] == [str(points)]
    assert sum(int(line.split()[-1]) for line in by_word["metric"]) == points
    assert "hparams.width int64" in by_word["columns"][0]


def check_budget(ended: ExperimentDetail) -> None:
    assert ended.reason is not None and ended.reason.startswith("budget.deadline")
    assert ended.budget is not None and ended.budget.used_slot_hours < 0.1
    assert ended.trials.planned is not None and ended.trials.planned < 200
