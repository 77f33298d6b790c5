"""`muster status`: a part that runs and does not serve, and why a part was started again."""

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from deploy.embedded.processes import ProcessId
from deploy.embedded.report import look
from deploy.embedded.state import Part, State
from deploy.embedded.tables import print_report

Usage = namedtuple("Usage", "total used free")
TROUBLE = "it fails to store objects in index partitions 6 of 0 to 7 (PUT failed with status 500)"


def test_what_fails_and_why_it_was_restarted_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    me = ProcessId.of(os.getpid())
    assert me is not None
    failing = Part("s3", "server", "running", me, (), 0, "", TROUBLE)
    restarted = Part("nats", "server", "running", me, (), 1, "it ended with exit code -9")
    State("ready", me, parts=(failing, restarted)).save(tmp_path)
    report = look(tmp_path)
    by_name = {part.name: part for part in report.parts}
    assert (by_name["s3"].state, by_name["s3"].trouble) == ("failing", TROUBLE)
    assert (by_name["nats"].state, by_name["nats"].restarts) == ("running", 1)
    assert f"s3: {TROUBLE}" in report.warnings
    print_report(report)
    shown = capsys.readouterr().out
    assert TROUBLE in shown
    assert "nats was restarted" in shown and "it ended with exit code -9" in shown


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = ProcessId.of(os.getpid())
    assert me is not None
    State("ready", me).save(tmp_path)
    assert not any("full" in warning for warning in look(tmp_path).warnings)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2**30, 2**30, 2**20))
    assert any("is full (1 MiB are free)" in warning for warning in look(tmp_path).warnings)
