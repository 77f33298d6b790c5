"""Reading and searching stored log lines by cursor."""

from typing import Literal

from pydantic import BaseModel

from shared.ids import ExperimentId, TrialId
from shared.messages.base import Query, Record

Level = Literal["debug", "info", "warning", "error"]
Stream = Literal["stdout", "stderr", "platform"]


class StoredLine(Record):
    cursor: int
    run_number: int
    rank: int
    stream: str
    level: str | None = None
    time_ms: int
    text: str


class LogPage(BaseModel):
    """A page of log lines.

    `next`: cursor behind the last line that was scanned, even if it did not match. `ended`: no more lines will come. `tail` and `before`: the
    requested last lines were not all found in time; `tail` more are needed before line `before`. Repeat the query with both values.
    """

    lines: tuple[StoredLine, ...]
    next: int
    ended: bool = False
    tail: int | None = None
    before: int | None = None


class LineFilter(Record):
    """Filter on log lines.

    `pattern`: a regular expression (RE2). `level`: the minimum level. Times are those at which the worker read the line.
    """

    rank: int | None = None
    contains: str | None = None
    stream: Stream | None = None
    pattern: str | None = None
    level: Level | None = None
    since_ms: int | None = None
    until_ms: int | None = None


class GetLogs(LineFilter, Query[LogPage], owner="registry", name="logs"):
    """Return log lines of one trial. `tail`: start so that only this many matching lines remain, counted before line `before` if it is set."""

    trial_id: TrialId
    after: int = 0
    limit: int = 1000
    run_number: int | None = None
    tail: int | None = None
    before: int | None = None


class FoundLine(StoredLine):
    experiment_id: ExperimentId
    trial_id: TrialId


class FoundLines(BaseModel):
    """`next`: cursor behind the last line that was scanned, even if the search found nothing before its time limit; None at the end."""

    lines: tuple[FoundLine, ...]
    next: str | None = None


class SearchLogs(LineFilter, Query[FoundLines], owner="registry", name="search_logs"):
    """Search log lines of these trials, of these experiments, or of the whole tenant if both are None.

    Order: newest experiment first, then trial number, then line.
    """

    experiments: tuple[ExperimentId, ...] | None = None
    trials: tuple[TrialId, ...] | None = None
    after: str | None = None
    limit: int = 1000
