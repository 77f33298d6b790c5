"""The example with two metrics and a limit, from its config to its front and to what it saved."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.platform import ROOT, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_small_networks_that_recognise_digits_are_shown_as_a_front(
    platform: Platform, tmp_path: Path
) -> None:
    config = ROOT / "examples/digits/small.yaml"
    quick = ("searcher.max_trials=6", "hyperparameters.epochs=1", "searcher.sampler.startup_trials=3")
    overrides = [word for each in quick for word in ("--config", each)]
    created = platform.muster("experiment", "create", str(config), *overrides, "--json")
    assert created.code == 0, created.err
    number = str(created.json()["number"])
    ended = platform.completed(platform.client.experiments.get(number))

    trials = platform.client.trials.list(number).all()
    within = {trial.number: trial.best for trial in trials if trial.best}
    assert within and all(best.others["parameters"] <= 20000 for best in within.values())
    front = platform.client.experiments.front(number).all()
    assert front and {one.trial_number for one in front} <= set(within)
    sizes = [one.metrics["parameters"] for one in front]
    accuracies = [one.metrics["accuracy"] for one in front]
    assert (accuracies, sizes) == (sorted(accuracies, reverse=True), sorted(sizes, reverse=True))
    for number_, best in within.items():
        beaten = [
            one.trial_number
            for one in front
            if one.metrics["accuracy"] >= (best.value or 0)
            and one.metrics["parameters"] <= best.others["parameters"]
        ]
        assert beaten, f"trial {number_} is beaten by none of the front"
    assert ended.best is not None and ended.best.trial_number == front[0].trial_number

    shown = platform.muster("experiment", "front", number)
    assert shown.code == 0 and f"{number}.{front[0].trial_number}" in shown.out and "parameters" in shown.out

    few = f"metrics.validation.parameters.last <= {min(sizes)} and state = completed"
    table = platform.client.trials.table(
        number, filter=few, sort="best", columns=("hparams.epochs", "best")
    ).all()
    smallest = [one for one in within if within[one].others["parameters"] <= min(sizes)]
    assert {row.number for row in table} == set(smallest)
    assert table[0].values["best"] == max(within[one].value or 0.0 for one in smallest)
    first = platform.client.trials.best(number, 1)[0]
    # The search's limits leave trials out of its own best, not out of the table.
    reached = first.values["metrics.validation.accuracy.best"]
    assert isinstance(reached, float) and reached >= (ended.best.value or 0.0)
    told = platform.muster("experiment", "best", number, "--count", "1")
    assert told.code == 0 and f"{number}.{first.number}" in told.out
    refused = platform.muster("trial", "list", number, "--filter", "1=1; DROP TABLE registry.trial")
    assert refused.code != 0 and "at character 4" in refused.err

    saved = [sys.executable, str(ROOT / "examples/registry/checkpoints.py"), number]
    looked = subprocess.run(
        saved, env=platform.environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert looked.returncode == 0, looked.stderr
    assert "saved" in looked.stdout and "with the best alone:" in looked.stdout
    assert any(path.is_file() for path in (tmp_path / f"best-{number}").rglob("*"))
