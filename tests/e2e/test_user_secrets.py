"""Secrets of a workspace, as a user sets them and a script gets them."""

import hashlib
import secrets

import pytest

from muster.client.models import ExperimentDetail
from muster.errors import Rejected
from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WORKSPACE = "secretive"
SCRIPT = """
import hashlib, os, pathlib, runpy
token = os.environ["HF_TOKEN"]
in_file = (pathlib.Path.home() / ".netrc").read_text()
print("got", hashlib.sha256(token.encode()).hexdigest(), token == in_file, "and prints", token, flush=True)
runpy.run_path("train.py", run_name="__main__")
"""
LONG = {"x": 1.0, "steps": 400, "every": 100, "pace_s": 0.1, "resumed_pace_s": 0.005}


def _create(platform: Platform) -> ExperimentDetail:
    return platform.create(
        workspace=WORKSPACE,
        project="e2e",
        entrypoint=["python3", "-c", SCRIPT],
        environment={"secrets": ["HF_TOKEN", {"name": "HF_TOKEN", "file": ".netrc"}]},
        hyperparameters=LONG,
    )


def _set(platform: Platform, value: str) -> None:
    ended = platform.muster("secret", "set", "HF_TOKEN", "--workspace", WORKSPACE, stdin=value + "\n")
    assert ended.code == 0, ended.err


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def test_runs_get_the_newest_value_and_logs_hide_it(platform: Platform) -> None:
    first, second = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    _set(platform, first)
    listed = platform.muster("secret", "list", "--workspace", WORKSPACE, "--json")
    assert "HF_TOKEN" in listed.out and first not in listed.out
    made = _create(platform)
    trial = f"{made.number}.1"
    platform.log_of(trial, has=f"got {_digest(first)} True")
    _set(platform, second)
    platform.client.experiments.pause(made.number)
    platform.until(lambda: platform.client.trials.get(trial).state == "parked")
    platform.client.experiments.resume(made.number)
    lines = platform.log_of(trial, has=f"got {_digest(second)} True")
    assert not [line for line in lines if first in line or second in line]
    assert sum("and prints ********" in line for line in lines) >= 2, lines

    def uses() -> list[str | None]:
        records = platform.client.audit.list().first(200)
        return [one.entity for one in records if one.operation == "UseSecret"]

    platform.until(lambda: uses().count(f"workspace/{WORKSPACE}/secret/HF_TOKEN") >= 2)
    platform.completed(made)


def test_a_missing_secret_is_named_before_and_after_the_submission(platform: Platform) -> None:
    _set(platform, secrets.token_urlsafe(24))
    made = _create(platform)
    trial = f"{made.number}.1"
    platform.log_of(trial, has="and prints")
    platform.client.experiments.pause(made.number)
    platform.until(lambda: platform.client.trials.get(trial).state == "parked")
    assert platform.muster("secret", "delete", "HF_TOKEN", "--workspace", WORKSPACE).code == 0
    with pytest.raises(Rejected, match=f"'{WORKSPACE}' has no secret HF_TOKEN"):
        _create(platform)
    platform.client.experiments.resume(made.number)
    ended = platform.wait(made)
    assert ended.state == "error", ended
    platform.log_of(trial, has=f"workspace '{WORKSPACE}' has no secret HF_TOKEN")
