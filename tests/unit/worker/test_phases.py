"""What of a run's phases stands in its experiment's trace."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from shared import telemetry
from shared.errors import MusterError, Rejected, Transient
from shared.ids import RunId
from shared.messages.phases import PhaseKind, PhasesStored, ReportPhases
from shared.settings import TelemetrySettings
from tests.support.virtual_time import in_virtual_time
from tests.support.waiting import eventually
from worker.connection.platform_connection import PlatformConnection
from worker.runs.watching import phases as worker_phases
from worker.runs.watching.phases import Phases, PhaseSender

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


def _phases(clock: _Clock, platform: "_Platform | None" = None) -> Phases:
    run = RunId(UUID(int=1))
    sender = PhaseSender(run, cast(PlatformConnection, platform or _Platform()))
    return Phases(run, {"traceparent": f"00-{TRACE}-{'cd' * 8}-01"}, clock, sender)


class _Platform:
    """The line to it: away at first, as often as it is told to be."""

    def __init__(self, *failures: MusterError) -> None:
        self.failures = list(failures)
        self.told: list[tuple[PhaseKind, int, int, int | None]] = []

    async def request(self, request: ReportPhases) -> PhasesStored:
        if self.failures:
            raise self.failures.pop(0)
        self.told += [(one.kind, one.began_ms, one.ended_ms, one.step) for one in request.phases]
        return PhasesStored()


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


@in_virtual_time
async def test_what_is_over_is_told_to_the_registry_which_may_be_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_phases, "LINGER_S", 0)
    monkeypatch.setattr(worker_phases, "RETRY_S", 0.05)
    clock, platform = _Clock(), _Platform(Transient("away", retry_after_s=0))
    phases = _phases(clock, platform)
    sending = asyncio.create_task(phases.sender.run())
    with phases.during("prepare"):
        clock.pass_s(2)
    with suppress(OSError), phases.during("fetch_code"):
        raise OSError
    phases.on_written(1, 50, 1.5)
    assert not phases.sender.is_drained
    await eventually(lambda: phases.sender.is_drained)
    assert not platform.told, "nobody waits for a registry that is away"
    await eventually(lambda: len(platform.told) == 2)
    began = int(BEGAN.timestamp() * 1000)
    assert platform.told == [
        ("prepare", began, began + 2000, None),
        ("write_checkpoint", began + 500, began + 2000, 50),
    ]
    platform.failures = [Rejected("run_deleted", "gone")]
    phases.on_written(2, 60, 1.5)
    await eventually(lambda: phases.sender.is_drained)
    assert len(platform.told) == 2, "what is not taken keeps no worker waiting"
    sending.cancel()
