"""Reports that a worker journals and sends, and the events about validations."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, PrivateAttr, TypeAdapter, ValidationError
from pydantic_core import from_json

from shared.ids import ExperimentId, RunId, TrialId, WorkerId
from shared.messages.base import Event, Record, WorkerRequest


class Report(Record):
    """Points of one metric group at one step. The user defines what a step counts; times are the worker's wall clock, for display only."""

    kind: Literal["report"] = "report"
    group: str = "training"
    step: int
    time_ms: int
    values: dict[str, float]


class Validation(Record):
    """A validation. `number` counts those of the run from 1 without gaps. The searcher learns results only from validations."""

    kind: Literal["validation"] = "validation"
    number: int
    step: int
    time_ms: int
    values: dict[str, float]


class LogLine(Record):
    kind: Literal["log"] = "log"
    rank: int
    stream: Literal["stdout", "stderr", "platform"]
    level: Literal["debug", "info", "warning", "error"] | None = None
    time_ms: int
    text: str


JournalRecord = Annotated[Report | Validation | LogLine, Field(discriminator="kind")]
_RECORD = TypeAdapter[Report | Validation | LogLine](JournalRecord)


class Mark(BaseModel):
    """The registry's committed mark of a source: the next record number that it expects. `retry_after_s`: nothing was stored; retry after this time."""

    next: int
    retry_after_s: float | None = None
    refused: str | None = None


class ReportBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="reports"):
    """worker → registry: records from `first` on of one source (a worker's journal of the run, one of three streams), at most 512 KiB."""

    run_id: RunId
    stream: Literal["reports"] = "reports"
    first: int
    records: tuple[JournalRecord, ...]
    traceparent: str | None = None
    _unreadable: tuple[str, ...] = PrivateAttr(())

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Reasons why parts of the batch could not be parsed. These parts are left out; the rest is kept."""
        return self._unreadable

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Parse a batch. A value that is not a number drops neither the record's other values nor its number in the journal."""
        try:
            return super().from_bytes(payload)
        except ValidationError:
            found = _parsed(payload)
            if found is None:
                raise
        reasons: list[str] = []
        records = [_readable(record, reasons) for record in found.pop("records")]
        batch = cls.model_validate({**found, "records": records})
        batch._unreadable = tuple(reasons)
        return batch


class LogBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="logs"):
    """worker → registry: log lines from `first` on of one journal of the run."""

    run_id: RunId
    stream: Literal["logs"] = "logs"
    first: int
    records: tuple[LogLine, ...]


class ProfileBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="profile"):
    """worker → registry: measurements of a run's machine, in a separate journal so that they delay no report of the run."""

    run_id: RunId
    stream: Literal["profile"] = "profile"
    first: int
    records: tuple[Report, ...]


class ValidationStored(Event, entity="validation", happened="stored"):
    """registry → searcher, emitted in the transaction that stores the report. `worker`: where to send the verdict. `stale`: do not count it."""

    trial_id: TrialId
    experiment_id: ExperimentId
    run_id: RunId
    run_number: int
    token: int
    version: int
    number: int
    step: int
    values: dict[str, float]
    worker: WorkerId
    stale: bool = False


class CurrentValidation(Record):
    """A validation that is not superseded."""

    step: int
    values: dict[str, float]


class ValidationsSuperseded(Event, entity="validation", happened="superseded"):
    """registry → searcher: a run resumes from `step`; validations of earlier runs beyond that step no longer count.

    Emitted in the transaction that decides this. `current`: the ten best validations that still count, best first by the searcher's metric.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    run_id: RunId
    run_number: int
    token: int
    version: int
    step: int
    current: tuple[CurrentValidation, ...]


def _parsed(payload: bytes) -> dict[str, Any] | None:
    """Return the batch as a dictionary if it has the shape of a batch; else None."""
    try:
        found = from_json(payload)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("records"), list) else None


def _readable(record: Any, reasons: list[str]) -> JournalRecord:
    """Return the record without values that are not numbers; an empty report if nothing can be parsed."""
    try:
        return _RECORD.validate_python(record)
    except ValidationError as error:
        wrong = {
            str(each["loc"][2])
            for each in error.errors()
            if each["loc"][1:2] == ("values",) and len(each["loc"]) > 2
        }
    if wrong:
        kept = {name: value for name, value in record["values"].items() if name not in wrong}
        reasons.extend(f"The value of {name[:64]!r} is not a number." for name in sorted(wrong))
        return _readable({**record, "values": kept}, reasons)
    reasons.append(
        "A record does not have the format of a report; the worker and the registry may have different versions."
    )
    return Report(step=0, time_ms=0, values={})
