"""What of a run's phases stands in its experiment's trace."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from shared import telemetry
from shared.ids import RunId
from shared.settings import TelemetrySettings
from worker.running.phases import Phases

TRACE = "ab" * 16
BEGAN = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


class _Clock:
    def __init__(self) -> None:
        self.at = BEGAN

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def pass_s(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Path]:
    telemetry.configure("worker", TelemetrySettings(directory=tmp_path))
    yield tmp_path
    telemetry.shutdown()


def _told(directory: Path) -> list[tuple[str, float, Any]]:
    """Name, seconds and step of each span, all of them of the run's trace."""
    telemetry.shutdown()
    (file,) = directory.glob("*.jsonl")
    spans = [json.loads(line) for line in file.read_text().splitlines()]
    assert {span["trace_id"] for span in spans} <= {TRACE}
    return [
        (span["name"], (span["end_ns"] - span["start_ns"]) / 1e9, span["attributes"].get("step"))
        for span in spans
    ]


def _phases(clock: _Clock) -> Phases:
    return Phases(RunId(UUID(int=1)), {"traceparent": f"00-{TRACE}-{'cd' * 8}-01"}, clock)


def test_each_phase_lasts_from_what_begins_it_to_what_ends_it(traces: Path) -> None:
    clock = _Clock()
    phases = _phases(clock)
    phases.on_ranks_asked()
    clock.pass_s(2)
    phases.on_entered()
    clock.pass_s(3)
    phases.on_reports()
    clock.pass_s(1)
    phases.on_reports()
    assert _told(traces) == [("start trial", 2, None), ("make first step", 3, None)]


def test_the_first_checkpoint_is_told_and_later_ones_that_took_long(traces: Path) -> None:
    clock = _Clock()
    phases = _phases(clock)
    for number, written_s in enumerate((0.25, 0.25, 5.0), start=1):
        phases.on_written(number, number * 10, written_s)
        phases.on_uploaded(number, number * 10, clock.now())
    assert _told(traces) == [
        ("write checkpoint", 0.25, 10),
        ("upload checkpoint", 0, 10),
        ("write checkpoint", 5, 30),
    ]


def test_what_a_daemon_has_not_seen_begin_is_not_told(traces: Path) -> None:
    phases = _phases(_Clock())
    phases.on_reports()
    phases.on_uploaded(1, 10, None)
    for nonsense in (float("nan"), -1.0, 1e300, "soon"):
        phases.on_written(1, 10, nonsense)
    phases.on_entered()
    assert _told(traces) == []
