"""What of a batch is kept, and what is refused with which reason."""

import json

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from services.registry.ingest.batches import IncomingBatch, read_batch
from services.registry.series.core.names import METRICS_PER_REPORT, refuse_metric_name
from services.registry.series.core.report_columns import SeriesPoints
from shared.ids import DEFAULT_TENANT, ExperimentId, RunId, TrialId, WorkerId, derived_id
from shared.messages.reports import JournalRecord, LogLine, Report, ReportBatch, Validation
from shared.messages.runs import AllocationFacts

RUN = RunId(derived_id(DEFAULT_TENANT, "run"))
WORKER = WorkerId("w-1")
FACTS = AllocationFacts(
    tenant=DEFAULT_TENANT,
    experiment_id=ExperimentId(derived_id(DEFAULT_TENANT, "experiment")),
    trial_id=TrialId(derived_id(DEFAULT_TENANT, "trial")),
    run_id=RUN,
    run_number=1,
    token=1,
    members=(WORKER,),
)


def read(*records: JournalRecord, first: int = 1) -> IncomingBatch:
    return read_batch(ReportBatch(run_id=RUN, first=first, records=records), FACTS, WORKER, {})


def report(**values: float) -> Report:
    return Report(step=7, time_ms=70, values=values)


def test_records_become_points_of_series_numbered_as_in_the_journal() -> None:
    incoming = read(report(loss=1.0), Validation(number=1, step=8, time_ms=80, values={"loss": 2.0}), first=5)
    assert incoming.points == {
        ("training", "loss"): SeriesPoints([5], [7], [70], [1.0]),
        ("validation", "loss"): SeriesPoints([6], [8], [80], [2.0]),
    }
    assert (incoming.sent.first, incoming.sent.after) == (5, 7)
    assert [validation.number for validation in incoming.validations] == [1]
    assert incoming.refusals == []


def test_a_validation_keeps_its_number_whatever_of_it_is_refused() -> None:
    wide = {f"m{number}": 1.0 for number in range(METRICS_PER_REPORT + 5)}
    incoming = read(Validation(number=3, step=1, time_ms=1, values=wide | {"": 1.0}))
    assert [validation.number for validation in incoming.validations] == [3]
    assert len(incoming.validations[0].values) == METRICS_PER_REPORT
    assert [refusal.code for refusal in incoming.refusals] == ["metrics_too_many"]


def test_validations_are_taken_from_rank_0_s_machine_alone() -> None:
    both = FACTS.model_copy(update={"members": (WORKER, WorkerId("w-2"))})
    said = ReportBatch(
        run_id=RUN,
        first=1,
        records=(report(a=1.0), Validation(number=1, step=8, time_ms=80, values={"loss": 2.0})),
    )
    other = read_batch(said, both, WorkerId("w-2"), {})
    assert (other.validations, list(other.points)) == ([], [("training", "a")])
    assert [refusal.code for refusal in other.refusals] == ["not_rank_0"]


def test_numbers_that_no_column_holds_are_refused() -> None:
    incoming = read(
        Report(step=2**70, time_ms=1, values={"a": 1.0}),
        Validation(number=0, step=1, time_ms=1, values={"a": 1.0}),
    )
    assert [refusal.code for refusal in incoming.refusals] == ["number_range", "number_range"]
    assert incoming.points == {}


def test_what_is_no_number_is_left_out_with_the_reason_and_nothing_else_is() -> None:
    good = {"kind": "report", "step": 1, "time_ms": 1, "values": {"loss": 0.5}}
    records = [
        good,
        good | {"step": 2, "values": {"loss": "high", "accuracy": "NaN", "lr": None}},
        {"kind": "validation", "number": 1, "step": 2, "time_ms": 2, "values": {"loss": [1.0]}},
        {"kind": "opinion"},
        good | {"step": 3},
    ]
    payload = json.dumps({"run_id": str(RUN), "first": 1, "records": records}).encode()
    incoming = read_batch(ReportBatch.from_bytes(payload), FACTS, WORKER, {})
    loss = incoming.points["training", "loss"]
    assert (loss.seqs, loss.steps) == ([1, 5], [1, 3])
    assert list(incoming.points) == [("training", "loss"), ("training", "accuracy")]
    assert (incoming.sent.after, [one.number for one in incoming.validations]) == (6, [1])
    assert {refusal.code for refusal in incoming.refusals} == {"not_a_number"}
    reasons = " ".join(refusal.reason for refusal in incoming.refusals)
    assert "'loss'" in reasons and "'lr'" in reasons and "format of a report" in reasons
    with pytest.raises(ValidationError):
        ReportBatch.from_bytes(b'{"first": "one"}')


def test_a_log_line_among_reports_is_a_log_line() -> None:
    incoming = read(LogLine(rank=2, stream="stderr", level="error", time_ms=5, text="x" * 100_000))
    assert (incoming.lines[0].rank, incoming.lines[0].level, len(incoming.lines[0].text)) == (
        2,
        "error",
        65_536,
    )


def test_what_one_reports_now_and_then_stays_in_the_order_of_its_reporting() -> None:
    """Names come and go, and groups lie between each other."""
    incoming = read(
        report(loss=1.0, lr=0.1),
        report(loss=2.0),
        Report(group="gradients", step=7, time_ms=70, values={"norm": 5.0}),
        report(lr=0.2),
        report(lr=0.3, loss=3.0),
        report(loss=4.0, lr=0.4),
        Report(group="gradients", step=8, time_ms=80, values={"norm": 6.0}),
    )
    assert incoming.points == {
        ("training", "loss"): SeriesPoints([1, 2, 5, 6], [7] * 4, [70] * 4, [1.0, 2.0, 3.0, 4.0]),
        ("training", "lr"): SeriesPoints([1, 4, 5, 6], [7] * 4, [70] * 4, [0.1, 0.2, 0.3, 0.4]),
        ("gradients", "norm"): SeriesPoints([3, 7], [7, 8], [70, 80], [5.0, 6.0]),
    }


def test_a_group_that_cannot_be_named_so_is_refused_and_its_neighbours_are_kept() -> None:
    incoming = read(Report(group="", step=1, time_ms=1, values={"a": 1.0}), report(a=2.0))
    assert [refusal.code for refusal in incoming.refusals] == ["metric_name_blank"]
    assert list(incoming.points) == [("training", "a")]


@given(st.lists(st.dictionaries(st.text(max_size=6), st.floats(), max_size=4), min_size=1, max_size=6))
def test_every_value_is_kept_or_has_a_reason(reports: list[dict[str, float]]) -> None:
    incoming = read(*[report(**values) for values in reports])
    kept = sum(map(len, incoming.points.values()))
    refused = {name for values in reports for name in values if refuse_metric_name(name)}
    assert kept == sum(len(values.keys() - refused) for values in reports)
    assert {refusal.reason for refusal in incoming.refusals} == {
        refusal.reason for name in refused if (refusal := refuse_metric_name(name))
    }
