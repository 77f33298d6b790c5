import json
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from shared import telemetry
from shared.errors import Transient
from shared.settings import TelemetrySettings
from shared.telemetry import metrics
from shared.telemetry.queue import SpanQueue


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Path]:
    telemetry.configure("tester", TelemetrySettings(directory=tmp_path, file_bytes=4096))
    yield tmp_path
    telemetry.shutdown()


def written(directory: Path) -> list[dict[str, Any]]:
    telemetry.shutdown()
    files = sorted(directory.glob("*.jsonl*"), reverse=True)
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_headers_carry_one_trace_over_a_hop(traces: Path) -> None:
    headers: dict[str, str] = {}
    with telemetry.span("send", trial="7"):
        telemetry.inject(headers)
    with telemetry.span("receive", parent=headers):
        assert telemetry.trace_id() == headers["traceparent"].split("-")[1]
    send, receive = written(traces)
    assert receive["trace_id"] == send["trace_id"]
    assert receive["parent_id"] == send["span_id"]
    assert send["attributes"] == {"trial": "7"}
    assert send["service"] == "tester"
    assert send["start_ns"] <= send["end_ns"] <= receive["start_ns"]


def test_headers_without_a_trace_begin_one(traces: Path) -> None:
    with telemetry.span("outer"), telemetry.span("inner", parent={"traceparent": "nonsense"}):
        pass
    inner, outer = written(traces)
    assert inner["parent_id"] is None
    assert inner["trace_id"] != outer["trace_id"]


def test_of_a_trace_that_its_beginner_does_not_record_nothing_is(traces: Path) -> None:
    onward: dict[str, str] = {}
    with telemetry.span("hop", parent={"traceparent": f"00-{'a' * 32}-{'b' * 16}-00"}), telemetry.span("in"):
        telemetry.inject(onward)
    assert onward["traceparent"].startswith(f"00-{'a' * 32}-") and onward["traceparent"].endswith("-00")
    assert written(traces) == []


def test_what_is_learned_within_a_span_stands_in_it(traces: Path) -> None:
    with telemetry.span("answer", operation="get") as span:
        span.set_attribute("status", 404)
    assert written(traces)[0]["attributes"] == {"operation": "get", "status": 404}


def test_what_is_over_is_recorded_with_its_times(traces: Path) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    telemetry.record("install", began, began + timedelta(seconds=2), {})
    found = written(traces)[0]
    assert found["end_ns"] - found["start_ns"] == 2_000_000_000
    assert found["start_ns"] == began.timestamp() * 1e9 and found["parent_id"] is None


def test_links_join_other_traces(traces: Path) -> None:
    headers: dict[str, str] = {}
    with telemetry.span("earlier"):
        telemetry.inject(headers)
    with telemetry.span("later", parent={}, links=[headers, {}]):
        pass
    earlier, later = written(traces)
    assert later["links"] == [[earlier["trace_id"], earlier["span_id"]]]


def test_what_users_own_stays_out(traces: Path) -> None:
    with telemetry.span("launch", run="r", learning_rate=0.1):
        pass
    assert written(traces)[0]["attributes"] == {"run": "r"}


def test_a_failure_marks_the_span_and_goes_on(traces: Path) -> None:
    with pytest.raises(Transient), telemetry.span("ask"):
        raise Transient("nobody answers")
    assert written(traces)[0]["error"] == "Transient: nobody answers"


def test_files_stay_bounded(traces: Path) -> None:
    for _ in range(40):
        with telemetry.span("step"):
            pass
        telemetry.tracing._recorder.flush()  # type: ignore[union-attr]
    telemetry.shutdown()
    sizes = [path.stat().st_size for path in traces.iterdir()]
    assert len(sizes) == 2
    assert sum(sizes) < 2 * (4096 + 1024)


def test_unconfigured_telemetry_still_carries_the_trace_onward() -> None:
    headers = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    onward: dict[str, str] = {}
    with telemetry.span("hop", parent=headers):
        telemetry.inject(onward)
    assert telemetry.same_trace(headers, onward)
    assert onward


def test_outcomes_are_counted_with_the_trace_as_exemplar(traces: Path) -> None:
    with telemetry.span("ask"):
        trace = telemetry.trace_id()
        with metrics.observed("tester", "ask"):
            pass
        with pytest.raises(Transient), metrics.observed("tester", "ask"):
            raise Transient("away")
    text = metrics.exposition("application/openmetrics-text")[0].decode()
    assert 'muster_operations_total{operation="ask",outcome="ok",service="tester"} 1.0' in text
    assert 'muster_operations_total{operation="ask",outcome="transient",service="tester"} 1.0' in text
    assert f'trace_id="{trace}"' in text


def exemplars_of(operation: str) -> list[str]:
    """The traces that are shown beside an operation's durations."""
    text = metrics.exposition("application/openmetrics-text")[0].decode()
    lines = [line for line in text.splitlines() if f'operation="{operation}"' in line and "_bucket" in line]
    return [found[1] for line in lines if (found := re.search(r'trace_id="([0-9a-f]+)"', line))]


def test_what_was_slow_has_its_exemplar_and_of_what_was_quick_one_is_enough(traces: Path) -> None:
    seen = []
    for seconds in (0.3, 0.002, 0.004, 0.2):
        with telemetry.span("poll"):
            metrics.observe("tester", "poll", "ok", seconds)
            seen.append(telemetry.trace_id())
    assert exemplars_of("poll") == [seen[1], seen[3], seen[0]]


def test_ages_are_shown_to_a_plain_reader_too() -> None:
    metrics.outbox_age("tester", 1.5)
    metrics.consumer_lag("tester_events", 3)
    metrics.lease_age("cycle", 0.25)
    text = metrics.exposition("text/plain")[0].decode()
    assert 'muster_outbox_age_seconds{service="tester"} 1.5' in text
    assert 'muster_consumer_lag{consumer="tester_events"} 3.0' in text
    assert 'muster_lease_age_seconds{lease="cycle"} 0.25' in text


def test_spans_are_written_soon_after_they_ended_however_many(traces: Path) -> None:
    for _ in range(2):
        for _ in range(700):
            with telemetry.span("one of many"):
                pass
        time.sleep(0.05)
    deadline = time.monotonic() + 5

    def lines() -> int:
        return sum(len(file.read_text().splitlines()) for file in traces.glob("*.jsonl*"))

    while not lines() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lines() > 0, "nobody has asked for them: they come by themselves"


def test_an_exporter_that_fails_once_gets_what_comes_later(traces: Path) -> None:
    exporter = Failing()
    queue = SpanQueue(exporter)
    queue.on_end(cast(ReadableSpan, "lost"))
    queue.force_flush()
    queue.on_end(cast(ReadableSpan, "kept"))
    queue.shutdown()
    assert exporter.got == ["kept"]


class Failing(SpanExporter):
    """Fails the first time."""

    def __init__(self) -> None:
        self.got: list[object] = []
        self._has_failed = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if not self._has_failed:
            self._has_failed = True
            raise OSError("the collector is away")
        self.got += spans
        return SpanExportResult.SUCCESS
