"""Each test of the command line begins as a process does: neither JSON nor a traceback was asked for yet."""

from pathlib import Path

import httpx
import pytest

from muster.cli.base.output import out
from tests.unit.sdk.shell import CONFIG, EXPERIMENT, ID, TRIAL, Shell


@pytest.fixture(autouse=True)
def as_a_process_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "json", False)
    monkeypatch.setattr(out, "debug", False)
    monkeypatch.setattr(out, "fields", ())


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    made = Shell(monkeypatch, capsys)
    known = httpx.Response(200, json={"sha256": "a" * 64, "size_bytes": 1})
    made.answers = {
        "GET /v1/experiments/31": httpx.Response(200, json=EXPERIMENT),
        "GET /v1/experiments": httpx.Response(200, json={"items": [EXPERIMENT]}),
        "POST /v1/experiments": httpx.Response(201, json=EXPERIMENT),
        "POST /v1/experiments/31/fork": httpx.Response(201, json=EXPERIMENT | {"number": 32}),
        "POST /v1/experiments/31/pause": httpx.Response(200, json=EXPERIMENT | {"state": "paused"}),
        "GET /v1/experiments/31/trials": httpx.Response(200, json={"items": [TRIAL]}),
        f"GET /v1/trials/{ID}": httpx.Response(200, json=TRIAL),
    }
    monkeypatch.setattr("muster.client.resources.experiments.Experiments.put_code", lambda *_: "a" * 64)
    del known
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path
