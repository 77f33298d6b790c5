"""`muster status`: what does not work, and why a part was restarted."""

import os
import shutil
from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deploy.embedded.host.processes import ProcessId
from deploy.embedded.state import Part, State
from deploy.embedded.status.report import PoolIsolation, Report, collect_report, find_problems
from deploy.embedded.status.tables import print_report
from shared.messages.health import CheckResult

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOLDS = CheckResult(name="database", ok=True, since=AT)
RUNNING = Report(True, "ready", "/home", "http://127.0.0.1:1", "127.0.0.1:2", "", (), (), 0, 0, ())

Usage = namedtuple("Usage", "total used free")
TROUBLE = "it fails to store objects in index partitions 6 of 0 to 7 (PUT failed with status 500)"


def fails(name: str, reason: str, later_s: int = 0) -> CheckResult:
    return CheckResult(name=name, ok=False, reason=reason, since=AT + timedelta(seconds=later_s))


def test_services_that_fail_for_one_reason_are_one_problem() -> None:
    away = "the stream EVT does not accept messages: no answer"
    (problem,) = find_problems(
        {"gateway": [HOLDS, fails("bus", away, 3)], "searcher": [fails("bus", away), HOLDS]}
    )
    assert (problem.check, problem.reason, problem.services) == ("bus", away, ("gateway", "searcher"))
    assert problem.since == "2026-11-01T12:00:00+00:00"


def test_different_reasons_are_all_shown() -> None:
    found = find_problems({"gateway": [fails("bus", "slow")], "searcher": [fails("bus", "away")]})
    assert [(one.reason, one.services) for one in found] == [("slow", ("gateway",)), ("away", ("searcher",))]


def test_a_service_that_does_not_answer_is_a_problem() -> None:
    (problem,) = find_problems({"gateway": [HOLDS], "scheduler": None})
    assert (problem.check, problem.services) == ("answers", ("scheduler",))


def test_a_healthy_platform_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_problems({"gateway": [HOLDS]}) == ()
    print_report(RUNNING)
    assert RUNNING.to_json()["health"] == "ok" and capsys.readouterr().out.startswith("ready")


def test_a_degraded_platform_says_so_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    report = replace(RUNNING, problems=find_problems({"gateway": [fails("bus", "no [leader]")]}))
    print_report(report)
    shown = capsys.readouterr().out
    assert (
        shown.startswith("degraded") and "bus: no [leader] since 2026-11-01" in shown and "gateway" in shown
    )
    assert report.to_json()["health"] == "degraded"
    assert replace(report, running=False).health == "stopped"


def test_what_fails_and_why_it_was_restarted_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    me = ProcessId.of(os.getpid())
    assert me is not None
    failing = Part("s3", "server", "running", me, (), 0, "", TROUBLE)
    restarted = Part("nats", "server", "running", me, (), 1, "it ended with exit code -9")
    State("ready", me, parts=(failing, restarted)).save(tmp_path)
    report = collect_report(tmp_path)
    by_name = {part.name: part for part in report.parts}
    assert (by_name["s3"].state, by_name["s3"].trouble) == ("failing", TROUBLE)
    assert (by_name["nats"].state, by_name["nats"].restarts) == ("running", 1)
    assert ("s3", TROUBLE) in [(one.check, one.reason) for one in report.problems]
    print_report(report)
    shown = capsys.readouterr().out
    assert TROUBLE in shown
    assert "nats was restarted" in shown and "it ended with exit code -9" in shown


def test_workers_without_a_network_boundary_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    detail = (
        "each run has its own namespaces, all have the worker's user; "
        "no network boundary: runs use the machine's network, because only root can make networks of runs"
    )
    report = replace(RUNNING, isolation=(PoolIsolation("default", "sandbox", detail, ("w1", "w2")),))
    print_report(report)
    assert f"isolation in pool default: sandbox, {detail} (w1, w2)\n" in capsys.readouterr().out
    assert report.to_json()["isolation"] == (
        {"pool": "default", "isolation": "sandbox", "detail": detail, "workers": ("w1", "w2")},
    )


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = ProcessId.of(os.getpid())
    assert me is not None
    State("ready", me).save(tmp_path)
    assert not collect_report(tmp_path).problems
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2**30, 2**30, 2**20))
    assert any("is full (1 MiB free)" in one.reason for one in collect_report(tmp_path).problems)
