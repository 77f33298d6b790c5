"""The examples of the registry, run as their first lines say, and a checkpoint that a model holds."""

import subprocess
import sys

import pytest

from muster.errors import Conflict
from tests.e2e.platform import ROOT, TIMEOUT_S, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def example(platform: Platform, name: str, *arguments: str) -> list[str]:
    """Run an example against the platform; return what it printed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "registry" / name), *arguments],
        env=platform.environment | {"MUSTER_CACHE": str(platform.home / "cache")},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_from_the_data_to_who_used_the_model(platform: Platform) -> None:
    data = {"train": {"name": "numbers", "version": "7"}}
    begun = [
        platform.create(data=data, hyperparameters={"x": x, "steps": 2, "pace_s": 0.0}) for x in (2.0, 1.0)
    ]
    worse, better = map(platform.completed, begun)
    said = example(platform, "models.py", str(worse.number), "numbers")
    assert said == ["registered numbers@1, trained on ['numbers']", "numbers@champion is version 1"]
    said = example(platform, "models.py", str(better.number), "numbers")
    assert said[-1] == "numbers@champion is version 2"
    said = example(platform, "models.py", str(worse.number), "numbers")
    assert said[1] == "numbers@champion stays version 2; differences:"
    assert "  metric loss: 1.5 → 2.5" in said and "  hyperparameter x: 1.0 → 2.0" in said

    said = example(platform, "lineage.py", "numbers@champion", "batch-7")
    assert said == ["the batch reads ['step']", "numbers@7 went into numbers 2, which batch-7 used"]

    said = example(platform, "logs.py", "begins at 0 with x", str(worse.number), str(better.number))
    assert said[-1] == "2 lines of 2 trials in 7 days"
    assert f"{worse.number}.1: 1 lines, the first in run 1" in said
    assert [line.split(maxsplit=1)[1] for line in said if line.endswith("with x 1.0")] == [
        "begins at 0 with x 1.0"
    ]

    held = platform.client.models.version("numbers", "champion").checkpoint
    with pytest.raises(Conflict, match="a model version refers to it") as refused:
        platform.client.checkpoints.delete(held)
    assert refused.value.code == "checkpoint_registered"
