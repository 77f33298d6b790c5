"""docs/training.md, carried out step by step: each script runs by itself and does what the page says of it."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.guide import scripts

STEPS = scripts()
# One process imports what they all need; each script then runs in a fork of it.
FORKS = """
import os, runpy, sys
import sklearn.datasets, torch
import muster.torch
torch.set_num_threads(1)
torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))])  # imports much at its first use
for line in sys.stdin:
    folder, latest, script = line.split()
    if not os.fork():
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        sys.argv = ["train.py", "--hparams", '{"epochs": 2}']
        if latest != "none":
            os.environ["MUSTER_LATEST_CHECKPOINT"] = latest
        runpy.run_path(script, run_name="__main__")
        sys.exit()
    print("ENDED", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each script prints, and last what the third does from its first checkpoint on."""
    root = tmp_path_factory.mktemp("guide")
    asked: list[tuple[Path, Path | str, Path]] = []
    for number, script in enumerate(STEPS):
        path = root / f"{number}.py"
        path.write_text(script)
        asked.append((root / str(number), "none", path))
    asked.append((root / "resumed", root / "3/checkpoints/000001-step-25", root / "3.py"))
    lines = "".join(f"{folder} {latest} {script}\n" for folder, latest, script in asked)
    done = subprocess.run(
        [sys.executable, "-c", FORKS], input=lines, capture_output=True, text=True, timeout=240, check=False
    )
    told = done.stdout.split("ENDED 0\n")
    assert len(told) == len(asked) + 1, done.stdout + done.stderr
    return told


def validations(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("[muster] validation")]


def test_there_are_five_small_diffs(said: list[str]) -> None:
    assert len(STEPS) == 6
    assert said[0].startswith("step 25: loss") and "[muster]" not in said[0]
    lines = [set(script.splitlines()) for script in STEPS]
    assert all(len(after - before) <= 9 for before, after in pairwise(lines))


def test_each_step_adds_what_it_says(said: list[str]) -> None:
    assert len(said[1].splitlines()) == 2  # two epochs: the experiment's word, not the default's
    assert [len(validations(text)) for text in said] == [0, 0, 2, 2, 2, 2, 1, 0]
    assert "training   step 50  loss=" in said[2]
    assert ["checkpoint step 50" in text for text in said[:6]] == [False] * 3 + [True] * 3
    assert "should_stop" in STEPS[4] and validations(said[4]) == validations(said[3]) == validations(said[5])


def test_a_resumed_script_goes_on_as_the_unbroken_one(said: list[str]) -> None:
    assert validations(said[6]) == validations(said[3])[1:]
    assert "step 1 " not in said[6]
