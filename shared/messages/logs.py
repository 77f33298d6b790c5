"""Logs as they are read back, by cursor."""

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
    """`next` is the cursor after what was looked through, which may be further where nothing more was found; `ended` says that no more can come.

    `tail` and `before`: the last lines that were asked for are not found yet, so many of them lie before that line; ask again with both.
    """

    lines: tuple[StoredLine, ...]
    next: int
    ended: bool = False
    tail: int | None = None
    before: int | None = None


class LineFilter(Record):
    """Which lines. `pattern` is a regular expression (RE2); `level` the least one; times are those of the worker that read the line."""

    rank: int | None = None
    contains: str | None = None
    stream: Stream | None = None
    pattern: str | None = None
    level: Level | None = None
    since_ms: int | None = None
    until_ms: int | None = None


class GetLogs(LineFilter, Query[LogPage], owner="registry", name="logs"):
    """Lines of one trial; with `tail` from where so many of the wanted ones are left, of those before a line where `before` says so."""

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
    """`next` goes on behind what was looked through, also where nothing was found in the time there was; None at the end."""

    lines: tuple[FoundLine, ...]
    next: str | None = None


class SearchLogs(LineFilter, Query[FoundLines], owner="registry", name="search_logs"):
    """Lines of many trials: of these trials, of these experiments, or (both None) of all of the tenant.

    The newest experiment comes first, its trials by number, a trial's lines in their order.
    """

    experiments: tuple[ExperimentId, ...] | None = None
    trials: tuple[TrialId, ...] | None = None
    after: str | None = None
    limit: int = 1000
