"""Reports: what a worker journals and sends, and what becomes of a validation."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, PrivateAttr, TypeAdapter, ValidationError
from pydantic_core import from_json

from shared.ids import ExperimentId, RunId, TrialId, WorkerId
from shared.messages.base import Event, Record, WorkerRequest


class Report(Record):
    """Points of one metric group at one step. Step counts what the user counts; time is the worker's wall clock, for display only."""

    kind: Literal["report"] = "report"
    group: str = "training"
    step: int
    time_ms: int
    values: dict[str, float]


class Validation(Record):
    """A validation: `number` counts the run's from 1 without gaps. The searcher's only source of results is what becomes of it."""

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
    """The registry's committed mark of a source: the next number it expects. `retry_after_s`: nothing was stored, try again then."""

    next: int
    retry_after_s: float | None = None
    refused: str | None = None


class ReportBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="reports"):
    """worker → registry. Records `first …` of one source (this worker's journal of the run, one of three streams), at most 512 KiB."""

    run_id: RunId
    stream: Literal["reports"] = "reports"
    first: int
    records: tuple[JournalRecord, ...]
    traceparent: str | None = None
    _unreadable: tuple[str, ...] = PrivateAttr(())

    @property
    def unreadable(self) -> tuple[str, ...]:
        """What of it could not be read, a reason each; it is left out, and the rest is here."""
        return self._unreadable

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """A value that is no number takes neither the other values with it nor its record's place in the journal."""
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
    run_id: RunId
    stream: Literal["logs"] = "logs"
    first: int
    records: tuple[LogLine, ...]


class ProfileBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="profile"):
    """worker → registry. What a worker has measured of a run on its machine, in a journal of its own: it holds up no report of the run."""

    run_id: RunId
    stream: Literal["profile"] = "profile"
    first: int
    records: tuple[Report, ...]


class ValidationStored(Event, entity="validation", happened="stored"):
    """registry → searcher, written in the transaction that stores the report. `worker` is where the verdict goes; `stale`: no rung may count it."""

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
    """A validation that still counts."""

    step: int
    values: dict[str, float]


class ValidationsSuperseded(Event, entity="validation", happened="superseded"):
    """registry → searcher: a run goes on from `step`, and what its predecessors validated beyond that counts no more; written where that is decided.

    `standing`: the ten best by the searcher's metric of those that count, the best first.
    """

    trial_id: TrialId
    experiment_id: ExperimentId
    run_id: RunId
    run_number: int
    token: int
    version: int
    step: int
    standing: tuple[CurrentValidation, ...]


def _parsed(payload: bytes) -> dict[str, Any] | None:
    """A batch's parts where it has the shape of one; else None."""
    try:
        found = from_json(payload)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("records"), list) else None


def _readable(record: Any, reasons: list[str]) -> JournalRecord:
    """The record without those of its values that are no numbers; an empty report where nothing of it can be read."""
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
        reasons.extend(f"The value of {name[:64]!r} is no number." for name in sorted(wrong))
        return _readable({**record, "values": kept}, reasons)
    reasons.append(
        "A record has not the form of a report; the worker and the registry may be of different versions."
    )
    return Report(step=0, time_ms=0, values={})
