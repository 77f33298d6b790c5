"""The example of a search that a program drives, with the program killed in the middle."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.platform import ROOT, TIMEOUT_S, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXAMPLE = ROOT / "examples/custom"


def test_a_program_that_is_killed_and_begun_again_ends_its_search(platform: Platform, tmp_path: Path) -> None:
    made = platform.muster("experiment", "create", str(EXAMPLE / "search.yaml"), "--json")
    assert made.code == 0, made.err
    number = str(made.json()["number"])

    def driving() -> subprocess.Popen[str]:
        command = [sys.executable, str(EXAMPLE / "drive.py"), number]
        return subprocess.Popen(
            command, env=platform.environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )  # fmt: skip

    first = driving()
    assert first.stdout is not None
    told: list[str] = []
    for line in first.stdout:
        told.append(line)
        if " ended " in line:
            break
    assert told[-1].split()[1] == "ended", told
    first.send_signal(signal.SIGKILL)
    first.wait(TIMEOUT_S)
    first.stdout.close()
    looked = platform.muster("experiment", "search", number, "--json").json()
    assert str(looked["driver"]).endswith(f":{first.pid}")

    second = driving()
    rest, _ = second.communicate(timeout=TIMEOUT_S)
    assert second.returncode == 0, rest
    ended = platform.client.experiments.get(number)
    assert (ended.state, ended.reason) == ("completed", "all trials were made")
    trials = platform.client.trials.list(number).all()
    assert sorted(trial.number for trial in trials) == list(range(1, 7))
    assert {trial.state for trial in trials} <= {"completed", "stopped"}
    tried = {str(sorted(trial.hyperparameters.items())) for trial in trials}
    assert len(tried) == len(trials), "the second program tried again what the first one had"
    search = platform.client.drive(number)
    history = list(search.history())
    assert [event.number for event in history] == sorted(event.number for event in history)
    assert sorted(event.key for event in history if event.kind == "ended") == [
        f"optuna-{n}" for n in range(6)
    ]
    assert search.look().waiting == 0
