"""`muster status`: what does not work, from the health checks of the services."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from deploy.embedded.report import Report, find_problems
from deploy.embedded.tables import print_report
from shared.messages.health import CheckResult

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOLDS = CheckResult(name="database", ok=True, since=AT)
RUNNING = Report(True, "ready", "/home", "http://127.0.0.1:1", "127.0.0.1:2", "", (), (), 0, 0, ())


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
