"""Parsed batches: points by series, validations and lines, and what is rejected.

Rejected parts are left out and named in the reply; the rest is stored and the mark advances, so that no journal waits for
something that will never be accepted. A rejected part of a validation keeps the validation's number, which the searcher waits for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from services.registry.core.names import InputRefusal
from services.registry.ingest.store import BatchRange
from services.registry.logs.core.line_columns import IncomingLine
from services.registry.series.core.names import (
    METRICS_PER_REPORT,
    VALIDATION_GROUP,
    SeriesName,
    refuse_metric_name,
    refuse_report,
)
from services.registry.series.core.report_columns import ReportColumns, SeriesPoints
from shared.ids import WorkerId
from shared.messages.reports import LogBatch, LogLine, ProfileBatch, Report, ReportBatch, Validation
from shared.messages.runs import AllocationFacts

LINE_CHARACTERS = 64 * 1024
_OF_RANK_0 = "only validations of rank 0's worker count; this worker may have left the run."
_MAX_INTEGER = 2**63 - 1
_MAX_NUMBER = 2**31 - 1

Batch = ReportBatch | LogBatch | ProfileBatch


@dataclass(slots=True)
class IncomingBatch:
    """A batch with its allocation. Only `refusals` grows while it is stored."""

    facts: AllocationFacts
    worker: WorkerId
    sent: BatchRange
    trace: Mapping[str, str]
    points: dict[SeriesName, SeriesPoints] = field(default_factory=dict)
    validations: list[Validation] = field(default_factory=list)
    lines: list[IncomingLine] = field(default_factory=list)
    refusals: list[InputRefusal] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """Approximate number of rows."""
        return 1 + sum(map(len, self.points.values())) + len(self.lines)


def read_batch(
    batch: Batch, facts: AllocationFacts, worker: WorkerId, trace: Mapping[str, str]
) -> IncomingBatch:
    """Parse a batch into rows, without what violates a limit."""
    sent = BatchRange(batch.run_id, worker, batch.stream, batch.first, batch.first + len(batch.records))
    incoming = IncomingBatch(facts, worker, sent, trace)
    if isinstance(batch, ReportBatch):
        incoming.refusals.extend(InputRefusal("not_a_number", reason) for reason in batch.unreadable)
    arrivals = ReportColumns(partial(_taken, incoming))
    for seq, record in enumerate(batch.records, start=batch.first):
        match record:
            case Report():
                _take_report(incoming, arrivals, seq, record)
            case LogLine():
                incoming.lines.append(_line(record))
            case Validation():
                _take_validation(incoming, arrivals, seq, record)
    incoming.points = arrivals.series()
    return incoming


def _line(record: LogLine) -> IncomingLine:
    return IncomingLine(
        record.rank, record.stream, record.level, record.time_ms, record.text[:LINE_CHARACTERS]
    )


def _take_report(incoming: IncomingBatch, arrivals: ReportColumns, seq: int, report: Report) -> None:
    if refusal := _refuse_numbers(report.step, report.time_ms):
        incoming.refusals.append(refusal)
        return
    arrivals.take(seq, report.group, report.step, report.time_ms, report.values)


def _take_validation(
    incoming: IncomingBatch, arrivals: ReportColumns, seq: int, validation: Validation
) -> None:
    if incoming.worker != incoming.facts.chief:
        incoming.refusals.append(
            InputRefusal("not_rank_0", f"Worker {incoming.worker} does not run rank 0: {_OF_RANK_0}")
        )
        return
    step, time_ms, values = validation.step, validation.time_ms, validation.values
    if refusal := _refuse_numbers(step, time_ms, validation.number):
        incoming.refusals.append(refusal)
        return
    taken = arrivals.take(seq, VALIDATION_GROUP, step, time_ms, values)
    if len(taken) < len(values):
        allowed = {name: value for name, value in values.items() if name in taken}
        validation = validation.model_copy(update={"values": allowed})
    incoming.validations.append(validation)


def _taken(incoming: IncomingBatch, group: str, names: Sequence[str]) -> frozenset[str]:
    """Return the valid metric names of a report; only the first ones if there are too many."""
    if refusal := refuse_metric_name(group):
        incoming.refusals.append(refusal)
        return frozenset()
    if refusal := refuse_report(len(names)):
        incoming.refusals.append(refusal)
    first = names[:METRICS_PER_REPORT]
    refused = {name: refusal for name in first if (refusal := refuse_metric_name(name))}
    incoming.refusals.extend(refused.values())
    return frozenset(first) - refused.keys()


def _refuse_numbers(step: int, time_ms: int, number: int = 1) -> InputRefusal | None:
    if abs(step) <= _MAX_INTEGER and abs(time_ms) <= _MAX_INTEGER and 0 < number <= _MAX_NUMBER:
        return None
    return InputRefusal(
        "number_range", f"Step {step} (or its time or number) is out of range; use 64-bit integers."
    )
